package v1beta2

import (
	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// EtcdConfig sets up embedded etcd. Keys of RKE2's config.yaml stand in parentheses.
type EtcdConfig struct {
	// exposeMetrics lets etcd's metrics be read from outside the node (etcd-expose-metrics).
	// +optional
	ExposeMetrics bool `json:"exposeMetrics,omitempty"`

	// backupConfig sets up snapshots.
	// +optional
	BackupConfig EtcdBackupConfig `json:"backupConfig,omitempty,omitzero"`

	// customConfig sets arguments, environment, mounts and image of etcd.
	// +optional
	CustomConfig *bootstrapv1.ComponentConfig `json:"customConfig,omitempty"`
}

// EtcdBackupConfig sets up etcd snapshots.
type EtcdBackupConfig struct {
	// disableAutomaticSnapshots switches scheduled snapshots off (etcd-disable-snapshots).
	// +optional
	DisableAutomaticSnapshots *bool `json:"disableAutomaticSnapshots,omitempty"`

	// snapshotName is the base name of snapshots (etcd-snapshot-name).
	// +optional
	SnapshotName string `json:"snapshotName,omitempty"`

	// scheduleCron is when snapshots are taken, as a cron line (etcd-snapshot-schedule-cron).
	// +optional
	ScheduleCron string `json:"scheduleCron,omitempty"`

	// retention is how many snapshots are kept, a number in text form (etcd-snapshot-retention).
	// +optional
	Retention string `json:"retention,omitempty"`

	// directory is where snapshots are written on the machine (etcd-snapshot-dir).
	// +optional
	Directory string `json:"directory,omitempty"`

	// s3 copies snapshots to an S3 bucket (etcd-s3).
	// +optional
	S3 *EtcdS3 `json:"s3,omitempty"`
}

// EtcdS3 describes the S3 bucket snapshots are copied to.
type EtcdS3 struct {
	// endpoint is the host, and port, of the S3 service (etcd-s3-endpoint).
	// +required
	Endpoint string `json:"endpoint"`

	// endpointCAsecret names a Secret whose key ca.pem is the authority that signed the service's certificate
	// (etcd-s3-endpoint-ca).
	// +optional
	EndpointCASecret *corev1.ObjectReference `json:"endpointCAsecret,omitempty"`

	// enforceSslVerify says whether the service's certificate is verified. Not set means it is; only false switches the
	// verification off (etcd-s3-skip-ssl-verify).
	// +optional
	EnforceSSLVerify *bool `json:"enforceSslVerify,omitempty"`

	// s3CredentialSecret names a Secret with the keys aws_access_key_id and aws_secret_access_key (etcd-s3-access-key,
	// etcd-s3-secret-key).
	// +optional
	S3CredentialSecret *corev1.ObjectReference `json:"s3CredentialSecret,omitempty"`

	// bucket is the name of the bucket (etcd-s3-bucket).
	// +optional
	Bucket string `json:"bucket,omitempty"`

	// region of the bucket (etcd-s3-region).
	// +optional
	Region string `json:"region,omitempty"`

	// folder inside the bucket (etcd-s3-folder).
	// +optional
	Folder string `json:"folder,omitempty"`
}
