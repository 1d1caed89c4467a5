package config

// kind says what values a key takes.
type kind int

const (
	text kind = iota
	flag
	number
	list
)

// keys are the settings of RKE2 1.36, of servers and agents alike: RKE2 itself
// lets agents have server settings in their file
// (https://docs.rke2.io/reference/server_config, …/linux_agent_config). Those
// that nobody asks for are accepted and have no effect in the lab.
var keys = map[string]kind{}

func init() {
	for k, names := range map[kind][]string{
		text:   textKeys,
		flag:   flagKeys,
		number: {"etcd-snapshot-retention", "etcd-s3-retention", "lb-server-port"},
		list:   listKeys,
	} {
		for _, name := range names {
			keys[name] = k
		}
	}
	for _, component := range components {
		keys[component+"-extra-mount"] = list
		keys[component+"-extra-env"] = list
	}
}

// components are the parts of a node whose process environment can be set.
var components = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "cloud-controller-manager",
}

var textKeys = []string{
	"advertise-address", "agent-token", "agent-token-file", "audit-policy-file", "bind-address",
	"cloud-controller-manager-image", "cloud-provider-config", "cloud-provider-name", "cluster-domain",
	"cluster-reset-restore-path", "config", "container-runtime-endpoint", "data-dir", "datastore-cafile",
	"datastore-certfile", "datastore-endpoint", "datastore-keyfile", "default-runtime", "egress-selector-mode",
	"etcd-image", "etcd-s3-access-key", "etcd-s3-bucket", "etcd-s3-bucket-lookup-type", "etcd-s3-config-secret",
	"etcd-s3-endpoint", "etcd-s3-endpoint-ca", "etcd-s3-folder", "etcd-s3-proxy", "etcd-s3-region",
	"etcd-s3-secret-key", "etcd-s3-session-token", "etcd-s3-timeout", "etcd-snapshot-dir", "etcd-snapshot-name",
	"etcd-snapshot-reconcile-interval", "etcd-snapshot-schedule-cron", "helm-job-image",
	"image-credential-provider-bin-dir", "image-credential-provider-config", "kube-apiserver-image",
	"kube-controller-manager-image", "kube-proxy-image", "kube-scheduler-image", "kubelet-path", "node-name",
	"pause-image", "pod-security-admission-config-file", "private-registry", "profile", "resolv-conf",
	"runtime-image", "secrets-encryption-provider", "server", "service-node-port-range", "servicelb-namespace",
	"snapshotter", "system-default-registry", "token", "token-file", "write-kubeconfig", "write-kubeconfig-group",
	"write-kubeconfig-mode", "write-kubeconfig-name",
}

var flagKeys = []string{
	"cluster-reset", "debug", "disable-apiserver", "disable-cloud-controller", "disable-controller-manager",
	"disable-default-registry-endpoint", "disable-etcd", "disable-kube-proxy", "disable-scheduler",
	"embedded-registry", "enable-pprof", "enable-servicelb", "etcd-disable-snapshots", "etcd-expose-metrics",
	"etcd-s3", "etcd-s3-insecure", "etcd-s3-skip-ssl-verify", "etcd-snapshot-compress",
	"node-name-from-cloud-provider-metadata", "nonroot-devices", "prime", "protect-kernel-defaults", "selinux",
	"supervisor-metrics", "tls-san-security", "with-node-id",
}

var listKeys = []string{
	"airgap-extra-registry", "cluster-cidr", "cluster-dns", "cni", "control-plane-probe-configuration",
	"control-plane-resource-limits", "control-plane-resource-requests", "disable", "etcd-arg",
	"helm-controller-arg", "ingress-controller", "kube-apiserver-arg", "kube-cloud-controller-manager-arg",
	"kube-controller-manager-arg", "kube-proxy-arg", "kube-scheduler-arg", "kubelet-arg", "node-external-dns",
	"node-external-ip", "node-internal-dns", "node-ip", "node-label", "node-taint", "service-cidr", "tls-san",
}

// commaKeys are the lists whose items may hold several between commas.
var commaKeys = []string{"cluster-cidr", "cluster-dns", "cni", "datastore-endpoint", "disable", "node-external-ip", "node-ip", "node-taint", "service-cidr", "tls-san"}

// unsupported are settings that change what a node is in ways the lab does not
// have: better refused than silently ignored.
var unsupported = []string{
	"cluster-reset", "cluster-reset-restore-path", "container-runtime-endpoint", "disable-apiserver", "disable-etcd",
	"disable-controller-manager", "node-name-from-cloud-provider-metadata", "with-node-id",
}
