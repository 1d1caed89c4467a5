package config

// known are the options of `rke2 server` and `rke2 agent` as of v1.36
// (https://docs.rke2.io/reference/server_config). The stand-in obeys those it
// has parts for and accepts the others, as a real node would.
var known = func() map[string]bool {
	out := map[string]bool{}
	for _, group := range [][]string{serverKeys, sharedKeys} {
		for _, key := range group {
			out[key] = true
		}
	}
	for _, component := range []string{"kube-apiserver", "kube-scheduler", "kube-controller-manager", "kube-proxy", "etcd", "cloud-controller-manager"} {
		out[component+"-extra-mount"], out[component+"-extra-env"], out[component+"-image"] = true, true, true
	}
	return out
}()

var serverKeys = []string{
	"advertise-address", "agent-token", "agent-token-file", "bind-address", "cluster-cidr", "cluster-dns", "cluster-domain",
	"cluster-reset", "cluster-reset-restore-path", "cni", "datastore-cafile", "datastore-certfile", "datastore-endpoint",
	"datastore-keyfile", "disable", "disable-apiserver", "disable-cloud-controller", "disable-controller-manager", "disable-etcd",
	"disable-kube-proxy", "disable-scheduler", "egress-selector-mode", "embedded-registry", "enable-pprof", "enable-servicelb",
	"etcd-arg", "etcd-disable-snapshots", "etcd-expose-metrics", "etcd-s3", "etcd-s3-access-key", "etcd-s3-bucket",
	"etcd-s3-bucket-lookup-type", "etcd-s3-config-secret", "etcd-s3-endpoint", "etcd-s3-endpoint-ca", "etcd-s3-folder",
	"etcd-s3-insecure", "etcd-s3-proxy", "etcd-s3-region", "etcd-s3-retention", "etcd-s3-secret-key", "etcd-s3-session-token",
	"etcd-s3-skip-ssl-verify", "etcd-s3-timeout", "etcd-snapshot-compress", "etcd-snapshot-dir", "etcd-snapshot-name",
	"etcd-snapshot-reconcile-interval", "etcd-snapshot-retention", "etcd-snapshot-schedule-cron", "helm-controller-arg",
	"helm-job-image", "ingress-controller", "kube-apiserver-arg", "kube-cloud-controller-manager-arg",
	"kube-controller-manager-arg", "kube-scheduler-arg", "secrets-encryption-provider", "service-cidr",
	"service-node-port-range", "servicelb-namespace", "supervisor-metrics", "tls-san", "tls-san-security", "write-kubeconfig",
	"write-kubeconfig-group", "write-kubeconfig-mode", "write-kubeconfig-name",
}

var sharedKeys = []string{
	"airgap-extra-registry", "audit-policy-file", "cloud-provider-config", "cloud-provider-name", "config",
	"container-runtime-endpoint", "control-plane-probe-configuration", "control-plane-resource-limits",
	"control-plane-resource-requests", "data-dir", "debug", "default-runtime", "disable-default-registry-endpoint",
	"image-credential-provider-bin-dir", "image-credential-provider-config", "kube-proxy-arg", "kubelet-arg", "kubelet-path",
	"lb-server-port", "node-external-dns", "node-external-ip", "node-internal-dns", "node-ip", "node-label", "node-name",
	"node-name-from-cloud-provider-metadata", "node-taint", "nonroot-devices", "pause-image", "pod-security-admission-config-file",
	"private-registry", "profile", "protect-kernel-defaults", "resolv-conf", "runtime-image", "selinux", "server", "snapshotter",
	"system-default-registry", "token", "token-file", "with-node-id",
}
