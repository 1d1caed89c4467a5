package pods

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/drover-project/drover/lab/internal/paths"
	"github.com/drover-project/drover/lab/internal/standin/config"
	"github.com/drover-project/drover/lab/internal/standin/pki"
)

// Node is what the pods of one server are made from.
type Node struct {
	Config  config.Config
	Version string
	// IP is the address by which others reach the server.
	IP string
	// MemberName is the name of the server's etcd member.
	MemberName string
	TLS        pki.Store
	// EtcdDir is etcd's data folder.
	EtcdDir string
	// Kubeconfigs are files for the components that talk to the API server.
	ControllerKubeconfig, SchedulerKubeconfig string
}

// EtcdPod is the server's etcd. initialCluster is empty for the first server.
func (n Node) EtcdPod(initialCluster string) *corev1.Pod {
	state := "existing"
	if initialCluster == "" {
		state, initialCluster = "new", n.MemberName+"="+n.PeerURL()
	}
	metrics := "http://127.0.0.1:2381"
	if n.Config.Bool("etcd-expose-metrics") {
		metrics += ",http://" + n.IP + ":2381"
	}
	return New(Component{
		Name: Etcd, Version: n.Version, Extra: n.Config.List("etcd-arg"), Environment: n.Config.List("etcd-extra-env"),
		Args: []string{
			"--name=" + n.MemberName, "--data-dir=" + n.EtcdDir,
			"--listen-client-urls=https://127.0.0.1:2379,https://" + n.IP + ":2379",
			"--advertise-client-urls=https://" + n.IP + ":2379",
			"--listen-peer-urls=https://127.0.0.1:2380,https://" + n.IP + ":2380",
			"--initial-advertise-peer-urls=" + n.PeerURL(),
			"--initial-cluster=" + initialCluster, "--initial-cluster-state=" + state,
			"--client-cert-auth", "--trusted-ca-file=" + n.TLS.Path(pki.EtcdServerCA+".crt"),
			"--cert-file=" + n.TLS.Path("etcd/server-client.crt"), "--key-file=" + n.TLS.Path("etcd/server-client.key"),
			"--peer-client-cert-auth", "--peer-trusted-ca-file=" + n.TLS.Path(pki.EtcdPeerCA+".crt"),
			"--peer-cert-file=" + n.TLS.Path("etcd/peer-server-client.crt"), "--peer-key-file=" + n.TLS.Path("etcd/peer-server-client.key"),
			"--listen-metrics-urls=" + metrics,
			"--heartbeat-interval=500", "--election-timeout=5000", "--snapshot-count=10000",
			"--feature-gates=InitialCorruptCheck=true", "--logger=zap", "--log-level=info",
		},
		Probes: Probes{
			Scheme: corev1.URISchemeHTTP, Port: 2381, Live: "/health?serializable=true", Start: "/health?serializable=true", StartPeriod: 1,
		},
	})
}

// PeerURL is where other members reach this one.
func (n Node) PeerURL() string { return "https://" + n.IP + ":2380" }

// APIServerPod is the server's API server. It knows only the local etcd, or the
// external datastore.
func (n Node) APIServerPod() *corev1.Pod {
	issuer := "https://kubernetes.default.svc." + n.Config.ClusterDomain()
	probes := Probes{
		Scheme: corev1.URISchemeHTTPS, Port: 6443, Live: "/livez", Ready: "/readyz", Start: "/livez", StartPeriod: 1, ReadinessPeriod: 5,
	}
	if n.anonymousRefused() {
		probes.Command = n.askAPIServer
	}
	return New(Component{
		Name: APIServer, Version: n.Version, Extra: n.Config.List("kube-apiserver-arg"), Environment: n.Config.List("kube-apiserver-extra-env"),
		Args: append(slices.Concat(n.policyArgs(), n.storageArgs()),
			"--advertise-address="+n.Config.StringOr("advertise-address", n.IP), "--bind-address=0.0.0.0", "--secure-port=6443",
			"--client-ca-file="+n.TLS.Path(pki.ClientCA+".crt"),
			"--tls-cert-file="+n.TLS.Path("serving-kube-apiserver.crt"), "--tls-private-key-file="+n.TLS.Path("serving-kube-apiserver.key"),
			"--kubelet-certificate-authority="+n.TLS.Path(pki.ServerCA+".crt"),
			"--kubelet-client-certificate="+n.TLS.Path("client-kube-apiserver.crt"), "--kubelet-client-key="+n.TLS.Path("client-kube-apiserver.key"),
			"--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
			"--service-account-issuer="+issuer, "--service-account-key-file="+n.TLS.Path(pki.ServiceKey+".key"),
			"--service-account-signing-key-file="+n.TLS.Path(pki.ServiceKey+".key"),
			"--service-cluster-ip-range="+n.Config.ServiceCIDR(),
			"--service-node-port-range="+n.Config.StringOr("service-node-port-range", "30000-32767"),
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--profiling=false",
			"--requestheader-client-ca-file="+n.TLS.Path(pki.RequestHeaderCA+".crt"), "--requestheader-allowed-names=system:auth-proxy",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-username-headers=X-Remote-User",
			"--proxy-client-cert-file="+n.TLS.Path("client-auth-proxy.crt"), "--proxy-client-key-file="+n.TLS.Path("client-auth-proxy.key"),
		),
		Probes: probes,
	})
}

// storageArgs are the flags for where the data are.
func (n Node) storageArgs() []string {
	endpoints := n.Config.Datastore()
	if len(endpoints) == 0 {
		return []string{
			"--etcd-servers=https://127.0.0.1:2379", "--etcd-cafile=" + n.TLS.Path(pki.EtcdServerCA+".crt"),
			"--etcd-certfile=" + n.TLS.Path("etcd/client.crt"), "--etcd-keyfile=" + n.TLS.Path("etcd/client.key"),
		}
	}
	args := []string{"--etcd-servers=" + strings.Join(endpoints, ",")}
	for key, flag := range map[string]string{"datastore-cafile": "etcd-cafile", "datastore-certfile": "etcd-certfile", "datastore-keyfile": "etcd-keyfile"} {
		if file := n.Config.String(key); file != "" {
			args = append(args, "--"+flag+"="+file)
		}
	}
	slices.Sort(args)
	return args
}

// policyArgs are the flags for the policy files that the user's settings name.
func (n Node) policyArgs() []string {
	var args []string
	if file := n.Config.String("audit-policy-file"); file != "" {
		args = append(args, "--audit-policy-file="+file, "--audit-log-path="+filepath.Join(n.Config.DataDir(), "server", "logs", "audit.log"))
	}
	if file := n.Config.String("pod-security-admission-config-file"); file != "" {
		args = append(args, "--admission-control-config-file="+file)
	}
	return args
}

// anonymousRefused tells whether the user lets nobody in without credentials.
// RKE2 does so by default; the lab does not, because each probe by a command
// takes a tenth of a second of a processor that many servers share.
func (n Node) anonymousRefused() bool {
	return slices.ContainsFunc(n.Config.List("kube-apiserver-arg"), func(arg string) bool {
		return strings.TrimLeft(arg, "-") == "anonymous-auth=false"
	})
}

// askAPIServer is the command that RKE2 probes the API server with.
func (n Node) askAPIServer(path string) []string {
	return []string{
		paths.KubeBinary, "kubectl", "get", "--raw=" + path, "--server=https://127.0.0.1:6443",
		"--certificate-authority=" + n.TLS.Path(pki.ServerCA+".crt"),
		"--client-certificate=" + n.TLS.Path("client-kube-apiserver.crt"), "--client-key=" + n.TLS.Path("client-kube-apiserver.key"),
	}
}

// ControllerManagerPod is the server's kube-controller-manager.
func (n Node) ControllerManagerPod() *corev1.Pod {
	return New(Component{
		Name: ControllerManager, Version: n.Version, Extra: n.Config.List("kube-controller-manager-arg"), Environment: n.Config.List("kube-controller-manager-extra-env"),
		Args: append(n.clientArgs(n.ControllerKubeconfig),
			"--use-service-account-credentials=true", "--service-account-private-key-file="+n.TLS.Path(pki.ServiceKey+".key"),
			"--root-ca-file="+n.TLS.Path(pki.ServerCA+".crt"),
			"--cluster-signing-cert-file="+n.TLS.Path(pki.ClientCA+".crt"), "--cluster-signing-key-file="+n.TLS.Path(pki.ClientCA+".key"),
			"--cluster-cidr="+n.Config.ClusterCIDR(), "--allocate-node-cidrs=true", "--service-cluster-ip-range="+n.Config.ServiceCIDR(),
			"--flex-volume-plugin-dir="+n.EtcdDir+"-flex",
		),
		Probes: Probes{Scheme: corev1.URISchemeHTTPS, Port: 10257, Live: "/healthz", Start: "/healthz", StartPeriod: 1},
	})
}

// SchedulerPod is the server's kube-scheduler.
func (n Node) SchedulerPod() *corev1.Pod {
	return New(Component{
		Name: Scheduler, Version: n.Version, Extra: n.Config.List("kube-scheduler-arg"), Environment: n.Config.List("kube-scheduler-extra-env"),
		Args:   n.clientArgs(n.SchedulerKubeconfig),
		Probes: Probes{Scheme: corev1.URISchemeHTTPS, Port: 10259, Live: "/healthz", Start: "/healthz", StartPeriod: 1},
	})
}

func (n Node) clientArgs(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--leader-elect=true", "--profiling=false",
	}
}

// InitialCluster is etcd's flag for a member that joins: the members there are
// and the new one.
func InitialCluster(members map[string]string, name, peerURL string) string {
	parts := []string{name + "=" + peerURL}
	for _, other := range slices.Sorted(maps.Keys(members)) {
		parts = append(parts, other+"="+members[other])
	}
	return strings.Join(parts, ",")
}
