package render

import (
	"slices"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// serverFields are those of serverConfig.
func serverFields() []Field {
	cloudConfig := Field{
		Path: "serverConfig.cloudProviderConfigMap", Roles: everyNode, Keys: []string{"cloud-provider-config"},
		Files: []string{cloudProviderConfigPath},
	}
	audit := serverField("auditPolicySecret", "audit-policy-file")
	audit.Files = []string{auditPolicyPath}
	multus := serverField("cniMultusEnable", "cni")
	multus.Note = "multus, before the one that cni names"
	disabled := serverField("disableComponents.kubernetesComponents",
		"disable-cloud-controller", "disable-kube-proxy", "disable-scheduler")
	return slices.Concat(
		[]Field{
			audit, serverField("bindAddress", "bind-address"), serverField("advertiseAddress", "advertise-address"),
			serverField("tlsSan", "tls-san"), serverField("serviceNodePortRange", "service-node-port-range"),
			serverField("clusterDNS", "cluster-dns"), serverField("clusterDomain", "cluster-domain"), disabled,
			serverField("disableComponents.pluginComponents", "disable"), serverField("cni", "cni"), multus,
			serverField("ingressController", "ingress-controller"),
			{Path: "serverConfig.pauseImage", Roles: everyNode, Keys: []string{"pause-image"}},
		},
		etcdFields(), s3Fields(), encryptionFieldRows(),
		componentFields("serverConfig.kubeAPIServer", "kube-apiserver", "kube-apiserver-arg", allServers),
		componentFields("serverConfig.kubeControllerManager", "kube-controller-manager", "kube-controller-manager-arg", allServers),
		componentFields("serverConfig.kubeScheduler", "kube-scheduler", "kube-scheduler-arg", allServers),
		componentFields("serverConfig.cloudControllerManager", "cloud-controller-manager",
			"kube-cloud-controller-manager-arg", allServers),
		[]Field{
			{Path: "serverConfig.cloudProviderName", Roles: everyNode, Keys: []string{"cloud-provider-name"}}, cloudConfig,
			serverField("supervisorMetrics", "supervisor-metrics"), serverField("embeddedRegistry", "embedded-registry"),
			{
				Path: "serverConfig.externalDatastoreSecret", Roles: allServers,
				Keys:  []string{"datastore-endpoint", "datastore-cafile", "datastore-certfile", "datastore-keyfile"},
				Files: []string{datastoreCAPath, datastoreCertPath, datastoreKeyPath},
			},
		},
	)
}

func serverField(name string, keys ...string) Field {
	return Field{Path: "serverConfig." + name, Roles: allServers, Keys: keys}
}

func etcdFields() []Field {
	return append([]Field{
		serverField("etcd.exposeMetrics", "etcd-expose-metrics"),
		serverField("etcd.backupConfig.disableAutomaticSnapshots", "etcd-disable-snapshots"),
		serverField("etcd.backupConfig.snapshotName", "etcd-snapshot-name"),
		serverField("etcd.backupConfig.scheduleCron", "etcd-snapshot-schedule-cron"),
		serverField("etcd.backupConfig.retention", "etcd-snapshot-retention"),
		serverField("etcd.backupConfig.directory", "etcd-snapshot-dir"),
	}, componentFields("serverConfig.etcd.customConfig", "etcd", "etcd-arg", allServers)...)
}

func s3Fields() []Field {
	authority := serverField("etcd.backupConfig.s3.endpointCAsecret", "etcd-s3-endpoint-ca")
	authority.Files = []string{s3CAPath}
	verify := serverField("etcd.backupConfig.s3.enforceSslVerify", "etcd-s3-skip-ssl-verify")
	verify.Note, verify.Tests = "not set means that the certificate is verified", []string{"TestS3IsVerifiedByDefault"}
	credentials := serverField("etcd.backupConfig.s3.s3CredentialSecret", "etcd-s3-config-secret")
	credentials.Note = "with it, all of s3 goes into the Secret " + controlplanev1.S3ConfigSecretName + " of the workload cluster " +
		"and none of its other keys into config.yaml; RKE2 before 1.31: etcd-s3-access-key and etcd-s3-secret-key"
	credentials.Tests = []string{"TestS3FromASecret", "TestSnapshotSettings (internal/upkeep)"}
	return []Field{
		serverField("etcd.backupConfig.s3.endpoint", "etcd-s3", "etcd-s3-endpoint"), authority, verify,
		credentials,
		serverField("etcd.backupConfig.s3.bucket", "etcd-s3-bucket"),
		serverField("etcd.backupConfig.s3.region", "etcd-s3-region"),
		serverField("etcd.backupConfig.s3.folder", "etcd-s3-folder"),
	}
}

func encryptionFieldRows() []Field {
	return []Field{
		serverField("secretsEncryption.provider", "secrets-encryption-provider"),
		{
			Path: encryptionField, Roles: allServers, Files: []string{"<data-dir>/server/cred/encryption-config.json"},
			Note:  "32 random bytes in base64 form, for the scheme that provider names; without it RKE2 makes a key",
			Tests: []string{"TestEncryptionKey", "TestEncryptionKeyOfTheUser (internal/controller/bootstrap)"},
		},
	}
}
