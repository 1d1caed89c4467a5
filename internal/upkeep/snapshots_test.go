package upkeep

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/scope"
)

func snapshotScope() *scope.Scope {
	s := &scope.Scope{
		Cluster:      &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo"}},
		ControlPlane: &controlplanev1.RKE2ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo"}},
	}
	s.ControlPlane.Annotations = map[string]string{controlplanev1.FirstServerByAnnotation: controlplanev1.FirstServerByDrover}
	s.ControlPlane.Spec.Version = "v1.36.3+rke2r1"
	s.ControlPlane.Spec.ServerConfig.Etcd.BackupConfig.S3 = &controlplanev1.EtcdS3{
		Endpoint: "s3.example", Bucket: "b", Folder: "f",
		S3CredentialSecret: &corev1.ObjectReference{Name: "s3"}, EndpointCASecret: &corev1.ObjectReference{Name: "s3"},
	}
	return s
}

func s3Secret(change func(map[string][]byte)) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "s3"},
		Data: map[string][]byte{
			"aws_access_key_id": []byte("access"), "aws_secret_access_key": []byte("secret"), "ca.pem": []byte("ca"),
		},
	}
	if change != nil {
		change(secret.Data)
	}
	return secret
}

var s3Key = client.ObjectKey{Namespace: "kube-system", Name: "rke2-etcd-snapshot-s3-config"}

// TestSnapshotSettings has the Secret made, left alone, and brought up to date with the credentials.
func TestSnapshotSettings(t *testing.T) {
	management, workload := fake.NewFakeClient(s3Secret(nil)), fake.NewFakeClient()
	u := &Upkeep{Live: management, Nodes: oneCluster{workload}}
	look := func(want map[string]string) string {
		t.Helper()
		if err := u.snapshots(t.Context(), snapshotScope()); err != nil {
			t.Fatal(err)
		}
		got := &corev1.Secret{}
		if err := workload.Get(t.Context(), s3Key, got); err != nil {
			t.Fatal(err)
		}
		text := map[string]string{}
		for key, value := range got.Data {
			text[key] = string(value)
		}
		if diff := cmp.Diff(want, text); diff != "" || got.Type != "etcd.k3s.cattle.io/s3-config-secret" {
			t.Errorf("%s\n%s", got.Type, diff)
		}
		return got.ResourceVersion
	}
	want := map[string]string{
		"etcd-s3-endpoint": "s3.example", "etcd-s3-bucket": "b", "etcd-s3-folder": "f", "etcd-s3-skip-ssl-verify": "false",
		"etcd-s3-access-key": "access", "etcd-s3-secret-key": "secret", "etcd-s3-endpoint-ca": "ca",
	}
	first := look(want)
	if again := look(want); again != first {
		t.Error("written although nothing changed")
	}
	updated := s3Secret(func(data map[string][]byte) { data["aws_secret_access_key"] = []byte("new") })
	if err := management.Update(t.Context(), updated); err != nil {
		t.Fatal(err)
	}
	want["etcd-s3-secret-key"] = "new"
	look(want)
}

func TestNoSnapshotSettings(t *testing.T) {
	for name, change := range map[string]func(*controlplanev1.RKE2ControlPlaneSpec){
		"no S3": func(s *controlplanev1.RKE2ControlPlaneSpec) { s.ServerConfig.Etcd.BackupConfig.S3 = nil },
		"no credentials": func(s *controlplanev1.RKE2ControlPlaneSpec) {
			s.ServerConfig.Etcd.BackupConfig.S3.S3CredentialSecret = nil
		},
		"an old release": func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Version = "v1.30.9+rke2r1" },
	} {
		s := snapshotScope()
		change(&s.ControlPlane.Spec)
		if err := (&Upkeep{}).snapshots(t.Context(), s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnfitSnapshotSettings(t *testing.T) {
	for want, c := range map[string]struct {
		secret *corev1.Secret
		change func(*controlplanev1.EtcdS3)
	}{
		`s3.s3CredentialSecret: read Secret demo/s3: it has no value under the key "aws_access_key_id"`: {
			secret: s3Secret(func(data map[string][]byte) { delete(data, "aws_access_key_id") }),
		},
		`s3.endpointCAsecret: read Secret demo/s3: it has no value under the key "ca.pem"`: {
			secret: s3Secret(func(data map[string][]byte) { delete(data, "ca.pem") }),
		},
		`s3.s3CredentialSecret: read Secret other/s3: it is in another namespace, which is not allowed`: {
			secret: s3Secret(nil), change: func(s3 *controlplanev1.EtcdS3) { s3.S3CredentialSecret.Namespace = "other" },
		},
		`s3.s3CredentialSecret: read Secret demo/gone: secrets "gone" not found`: {
			secret: s3Secret(nil), change: func(s3 *controlplanev1.EtcdS3) { s3.S3CredentialSecret.Name = "gone" },
		},
	} {
		s := snapshotScope()
		s3 := s.ControlPlane.Spec.ServerConfig.Etcd.BackupConfig.S3
		s3.EnforceSSLVerify = ptr.To(false)
		if c.change != nil {
			c.change(s3)
		}
		u := &Upkeep{Live: fake.NewFakeClient(c.secret), Nodes: oneCluster{fake.NewFakeClient()}}
		if err := u.snapshots(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant: %s", err, want)
		}
	}
}
