package render

// keyTable has the keys of config.yaml that RKE2 1.31 to 1.36 know. A key is the name of an option of `rke2 server` or
// `rke2 agent`. The facts come from the options' definitions in github.com/rancher/rke2 (pkg/cli/cmds: server.go,
// agent.go, root.go) and those they take over from github.com/k3s-io/k3s (pkg/cli/cmds), compared between the tags of
// the minor releases, and from `rke2 server --help` and `rke2 agent --help` of v1.33.5+rke2r1. Also
// https://docs.rke2.io/reference/server_config and https://docs.rke2.io/reference/linux_agent_config.
var keyTable = makeKeyTable()

// sinceRelease are the keys that not every release from 1.31 on knows.
var sinceRelease = map[string][]release{
	"etcd-s3-retention":     {{31, 12}, {32, 8}, {33, 4}, {34, 0}},
	"helm-controller-arg":   {{33, 0}},
	"write-kubeconfig-name": {{36, 4}},
}

func makeKeyTable() map[string]key {
	table := map[string]key{}
	add := func(kind keyKind, serversOnly bool, names []string) {
		for _, name := range names {
			table[name] = key{kind: kind, serversOnly: serversOnly, since: sinceRelease[name]}
		}
	}
	add(textKey, true, serverTexts)
	add(flagKey, true, serverFlags)
	add(numberKey, true, []string{"etcd-snapshot-retention", "etcd-s3-retention"})
	add(durationKey, true, []string{"etcd-snapshot-reconcile-interval", "etcd-s3-timeout"})
	add(listKey, true, serverLists)

	add(textKey, false, nodeTexts)
	add(flagKey, false, nodeFlags)
	add(numberKey, false, []string{"lb-server-port"})
	add(listKey, false, nodeLists)
	for _, component := range []string{
		"kube-apiserver", "kube-scheduler", "kube-controller-manager", "kube-proxy", "etcd", "cloud-controller-manager",
	} {
		add(listKey, false, []string{component + "-extra-mount", component + "-extra-env"})
		add(textKey, false, []string{component + "-image"})
	}
	return table
}

// The keys of servers only.
var (
	serverTexts = []string{
		"advertise-address", "agent-token", "agent-token-file", "cluster-domain", "cluster-reset-restore-path",
		"datastore-cafile", "datastore-certfile", "datastore-endpoint", "datastore-keyfile", "egress-selector-mode",
		"etcd-s3-access-key", "etcd-s3-bucket", "etcd-s3-bucket-lookup-type", "etcd-s3-config-secret",
		"etcd-s3-endpoint", "etcd-s3-endpoint-ca", "etcd-s3-folder", "etcd-s3-proxy", "etcd-s3-region",
		"etcd-s3-secret-key", "etcd-s3-session-token", "etcd-snapshot-dir", "etcd-snapshot-name",
		"etcd-snapshot-schedule-cron", "helm-job-image", "secrets-encryption-provider", "service-node-port-range",
		"servicelb-namespace", "write-kubeconfig", "write-kubeconfig-group", "write-kubeconfig-mode",
		"write-kubeconfig-name",
	}
	serverFlags = []string{
		"cluster-reset", "disable-apiserver", "disable-cloud-controller", "disable-controller-manager", "disable-etcd",
		"disable-kube-proxy", "disable-scheduler", "embedded-registry", "enable-servicelb", "etcd-disable-snapshots",
		"etcd-expose-metrics", "etcd-s3", "etcd-s3-insecure", "etcd-s3-skip-ssl-verify", "etcd-snapshot-compress",
		"prime", "supervisor-metrics", "tls-san-security",
	}
	serverLists = []string{
		"cluster-cidr", "cluster-dns", "cni", "disable", "etcd-arg", "helm-controller-arg", "ingress-controller",
		"kube-apiserver-arg", "kube-cloud-controller-manager-arg", "kube-controller-manager-arg", "kube-scheduler-arg",
		"service-cidr", "tls-san",
	}
)

// The keys of servers and agents.
var (
	nodeTexts = []string{
		"audit-policy-file", "bind-address", "cloud-provider-config", "cloud-provider-name", "config",
		"container-runtime-endpoint", "data-dir", "default-runtime", "image-credential-provider-bin-dir",
		"image-credential-provider-config", "kubelet-path", "node-name", "pause-image",
		"pod-security-admission-config-file", "private-registry", "profile", "resolv-conf", "runtime-image", "server",
		"snapshotter", "system-default-registry", "token", "token-file",
	}
	nodeFlags = []string{
		"debug", "disable-default-registry-endpoint", "enable-pprof", "node-name-from-cloud-provider-metadata",
		"nonroot-devices", "protect-kernel-defaults", "selinux", "with-node-id",
	}
	nodeLists = []string{
		"airgap-extra-registry", "control-plane-probe-configuration", "control-plane-resource-limits",
		"control-plane-resource-requests", "kube-proxy-arg", "kubelet-arg", "node-external-dns", "node-external-ip",
		"node-internal-dns", "node-ip", "node-label", "node-taint",
	}
)
