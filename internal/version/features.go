package version

// HasS3ConfigSecret tells whether the release can read where its snapshots go, and the credentials for that, from a
// Secret of the cluster (etcd-s3-config-secret). All releases of the minors that are supported can; earlier ones are
// taken not to (https://docs.rke2.io/datastore/backup_restore).
func (v Version) HasS3ConfigSecret() bool {
	return v.Major > 1 || v.Major == 1 && v.Minor >= 31
}
