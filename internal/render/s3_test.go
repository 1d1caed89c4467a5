package render

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/version"
)

func TestS3IsVerifiedByDefault(t *testing.T) {
	for _, c := range []struct {
		enforce *bool
		want    any
	}{{nil, nil}, {ptr.To(true), nil}, {ptr.To(false), true}} {
		in := firstServer()
		in.Server.Etcd.BackupConfig.S3 = &controlplanev1.EtcdS3{Endpoint: "s3.example", EnforceSSLVerify: c.enforce}
		if got := nodeConfig(t, in)["etcd-s3-skip-ssl-verify"]; got != c.want {
			t.Errorf("enforceSslVerify %v: %v", ptr.Deref(c.enforce, true), got)
		}
	}
}

// With credentials the settings are in a Secret of the workload cluster, and nothing of them reaches the machine. RKE2
// ignores the Secret when any other key of S3 is set.
func TestS3FromASecret(t *testing.T) {
	in := everything()
	out, err := Bootstrap(in)
	if err != nil {
		t.Fatal(err)
	}
	config := nodeConfig(t, in)
	for key := range config {
		if strings.HasPrefix(key, "etcd-s3") && key != "etcd-s3" && key != "etcd-s3-config-secret" {
			t.Errorf("%s is set", key)
		}
	}
	if config["etcd-s3-config-secret"] != "rke2-etcd-snapshot-s3-config" || config["etcd-s3"] != true {
		t.Errorf("%v", config)
	}
	if strings.Contains(string(out.Data), "etcd-s3-ca.crt") {
		t.Error("the authority of S3 is on the machine")
	}
	in.Version = version.Version{Major: 1, Minor: 30, Patch: 9, Release: 1}
	config = nodeConfig(t, in)
	if config["etcd-s3-access-key"] != "access" || config["etcd-s3-config-secret"] != nil || config["etcd-s3-bucket"] != "bucket" {
		t.Errorf("before the Secret was known: %v", config)
	}
}
