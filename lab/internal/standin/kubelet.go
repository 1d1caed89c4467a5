package standin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/paths"
	"github.com/drover-project/drover/lab/internal/standin/pki"
)

// How often the kubelet looks at its static pods.
const (
	fileCheck = 2 * time.Second
	syncEvery = 2 * time.Second
)

// localAPI is the one API server address that a kubelet knows: on a server the
// server's own, on an agent the local load balancer.
const localAPI = "https://127.0.0.1:6443"

// kubeletFiles are the files that the kubelet runs on.
type kubeletFiles struct {
	Client, Serving    pki.Pair
	ServerCA, ClientCA []byte
}

// startKubelet writes the kubelet's files and keeps it running.
func (n *node) startKubelet(ctx context.Context, files kubeletFiles) error {
	dir := n.agentDir("")
	store := pki.Store{Dir: filepath.Clean(dir)}
	if err := store.Write("serving-kubelet", files.Serving); err != nil {
		return err
	}
	if err := store.Write(pki.ClientCA, pki.Pair{Cert: files.ClientCA}); err != nil {
		return err
	}
	kubeconfig := n.agentDir("kubelet.kubeconfig")
	if err := writeKubeconfig(kubeconfig, localAPI, files.ServerCA, files.Client); err != nil {
		return err
	}
	settings, err := n.kubeletConfiguration(store)
	if err != nil {
		return err
	}
	file := n.agentDir("kubelet.yaml")
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return err
	}
	for _, d := range []string{string(n.podDir()), "/var/log/pods", "/var/log/containers", "/var/lib/kubelet"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	argv := append([]string{
		paths.KubeBinary, "kubelet", "--config=" + file, "--kubeconfig=" + kubeconfig, "--hostname-override=" + n.name,
		"--root-dir=/var/lib/kubelet", "--cert-dir=/var/lib/kubelet/pki", "--node-ip=" + n.ip(),
	}, n.kubeletArgs()...)
	env := []string{"LAB_VERSION=" + n.version, "GOGC=50", "GOMAXPROCS=2", "HOME=/root"}
	go n.keepRunning(ctx, "kubelet", "/var/log/kubelet.log", argv, env)
	return nil
}

func (n *node) kubeletArgs() []string {
	var args []string
	if labels := n.config.List("node-label"); len(labels) > 0 {
		args = append(args, "--node-labels="+strings.Join(labels, ","))
	}
	for _, a := range n.config.List("kubelet-arg") {
		args = append(args, "--"+strings.TrimLeft(a, "-"))
	}
	return args
}

// kubeletConfiguration turns off what a machine without cgroups of its own
// can't have, and leaves the rest at the kubelet's defaults.
func (n *node) kubeletConfiguration(store pki.Store) ([]byte, error) {
	taints, err := parseTaints(n.config.List("node-taint"))
	if err != nil {
		return nil, err
	}
	c := kubeletconfig.KubeletConfiguration{
		TypeMeta:           metav1.TypeMeta{APIVersion: kubeletconfig.SchemeGroupVersion.String(), Kind: "KubeletConfiguration"},
		Address:            "0.0.0.0",
		HealthzBindAddress: "127.0.0.1",
		Authentication: kubeletconfig.KubeletAuthentication{
			Anonymous: kubeletconfig.KubeletAnonymousAuthentication{Enabled: ptr.To(false)},
			Webhook:   kubeletconfig.KubeletWebhookAuthentication{Enabled: ptr.To(true)},
			X509:      kubeletconfig.KubeletX509Authentication{ClientCAFile: store.Path(pki.ClientCA + ".crt")},
		},
		Authorization:            kubeletconfig.KubeletAuthorization{Mode: kubeletconfig.KubeletAuthorizationModeWebhook},
		TLSCertFile:              store.Path("serving-kubelet.crt"),
		TLSPrivateKeyFile:        store.Path("serving-kubelet.key"),
		ContainerRuntimeEndpoint: "unix://" + criSocket,
		StaticPodPath:            string(n.podDir()),
		PodLogsDir:               "/var/log/pods",
		VolumePluginDir:          "/var/lib/kubelet/volumeplugins",
		ProviderID:               n.instance.ProviderID,
		ClusterDomain:            n.config.ClusterDomain(),
		RegisterWithTaints:       taints,

		CgroupsPerQOS:                 ptr.To(false),
		EnforceNodeAllocatable:        []string{"none"},
		FailCgroupV1:                  ptr.To(false),
		FailSwapOn:                    ptr.To(false),
		MakeIPTablesUtilChains:        ptr.To(false),
		LocalStorageCapacityIsolation: ptr.To(false),
		ResolverConfig:                ptr.To(""),
		ImageGCHighThresholdPercent:   ptr.To(int32(100)),
		EvictionHard:                  map[string]string{"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "imagefs.inodesFree": "0%"},
		FeatureGates:                  map[string]bool{"KubeletInUserNamespace": true},
	}
	// RKE2 sets file-check-frequency 5s and sync-frequency 30s. The lab looks
	// more often, so that mirror pods appear before a story waits for them.
	c.FileCheckFrequency.Duration = fileCheck
	c.SyncFrequency.Duration = syncEvery
	return yaml.Marshal(c)
}

func parseTaints(specs []string) ([]corev1.Taint, error) {
	var out []corev1.Taint
	for _, spec := range specs {
		keyValue, effect, ok := strings.Cut(spec, ":")
		if !ok {
			return nil, fmt.Errorf("node-taint %q: expected KEY=VALUE:EFFECT", spec)
		}
		key, value, _ := strings.Cut(keyValue, "=")
		out = append(out, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return out, nil
}

func writeKubeconfig(file, server string, ca []byte, client pki.Pair) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["default"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	c.AuthInfos["default"] = &clientcmdapi.AuthInfo{ClientCertificateData: client.Cert, ClientKeyData: client.Key}
	c.Contexts["default"] = &clientcmdapi.Context{Cluster: "default", AuthInfo: "default"}
	c.CurrentContext = "default"
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return clientcmd.WriteToFile(*c, file)
}
