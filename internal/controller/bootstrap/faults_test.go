package bootstrap

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
)

func TestForeignSecretIsKept(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cp-1"}, StringData: map[string]string{"a": "b"}}
	w.Expect(api.Create(w.ctx, foreign)).To(Succeed())
	w.server("cp-1", nil)
	w.waits("cp-1", bootstrapv1.DataSecretNotAvailableReason, "exists and does not belong to this RKE2Config")
}

func TestSecretWithoutKey(t *testing.T) {
	w := newWorld(t)
	w.provision()
	broken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "demo-cca"}, StringData: map[string]string{"tls.crt": "x"}}
	w.Expect(api.Create(w.ctx, broken)).To(Succeed())
	for _, purpose := range []secrets.Purpose{secrets.ServerCA, secrets.EtcdCA, secrets.EtcdPeerCA} {
		_, err := secrets.EnsureCA(w.ctx, api, api, w.key("demo"), purpose, w.owner())
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.server("cp-1", nil)
	w.waits("cp-1", bootstrapv1.DataSecretNotAvailableReason,
		"Secret "+w.namespace+"/demo-cca: key tls.key is missing; add it or delete the Secret before the cluster is initialized")
}

func TestFaultsOfTheInput(t *testing.T) {
	for name, c := range map[string]struct {
		config func(*bootstrapv1.RKE2Config)
		change func(*clusterv1.Machine)
		want   string
	}{
		"version": {
			change: func(m *clusterv1.Machine) { m.Spec.Version = "v1.36.3" },
			want:   `Machine cp-1: spec.version: "v1.36.3" is not an RKE2 version: expected vX.Y.Z+rke2rN, for example v1.36.3+rke2r1; it comes from spec.version of RKE2ControlPlane demo`,
		},
		"no owner": {
			change: func(m *clusterv1.Machine) { m.OwnerReferences = nil },
			want:   "has the label cluster.x-k8s.io/control-plane but no RKE2ControlPlane owns it",
		},
		"no control plane": {
			change: func(m *clusterv1.Machine) { m.OwnerReferences[0].Name = "gone" },
			want:   "waiting for RKE2ControlPlane gone to exist",
		},
		"server configuration": {
			change: func(m *clusterv1.Machine) {
				m.Annotations = map[string]string{controlplanev1.ServerConfigurationAnnotation: "hunter2"}
			},
			want: "is not the JSON of a serverConfig",
		},
		"cannot be rendered": {
			config: func(c *bootstrapv1.RKE2Config) {
				c.Spec.AgentConfig.Format = bootstrapv1.Ignition
				c.Spec.AgentConfig.AdditionalUserData.Config = "users: []"
			},
			want: "agentConfig.additionalUserData.config has no variant",
		},
		"missing content": {
			config: func(c *bootstrapv1.RKE2Config) {
				c.Spec.Files = []bootstrapv1.File{{Path: "/a", ContentFrom: &bootstrapv1.FileSource{Secret: &bootstrapv1.FileSourceRef{Name: "x", Key: "y"}}}}
			},
			want: "/x does not exist",
		},
		"missing key": {
			config: func(c *bootstrapv1.RKE2Config) {
				c.Spec.Files = []bootstrapv1.File{{Path: "/a", ContentFrom: &bootstrapv1.FileSource{Secret: &bootstrapv1.FileSourceRef{Name: "demo-token", Key: "y"}}}}
			},
			want: `files[0].contentFrom (/a): demo-token has no value under the key "y"`,
		},
		"another namespace": {
			config: func(c *bootstrapv1.RKE2Config) {
				c.Spec.Files = []bootstrapv1.File{{Path: "/a", ContentFrom: &bootstrapv1.FileSource{ConfigMap: &bootstrapv1.FileSourceRef{Name: "x", Key: "y", Namespace: "default"}}}}
			},
			want: "files[0].contentFrom (/a): ConfigMap default/x (key y) is in another namespace and is not read: copy it to namespace ",
		},
		"a flag opens other namespaces": {
			config: func(c *bootstrapv1.RKE2Config) {
				c.Spec.PrivateRegistriesConfig.Configs = map[string]bootstrapv1.RegistryConfig{
					"r.example": {AuthSecret: corev1.ObjectReference{Name: "login", Namespace: "default"}},
				}
			},
			want: "or have the managers started with --allow-cross-namespace-references",
		},
		"registry without credentials": {
			config: func(c *bootstrapv1.RKE2Config) {
				c.Spec.PrivateRegistriesConfig.Configs = map[string]bootstrapv1.RegistryConfig{
					"r.example": {AuthSecret: corev1.ObjectReference{Name: "demo-token"}},
				}
			},
			want: "privateRegistriesConfig.configs[r.example].authSecret: Secret demo-token needs the keys username and password, or identity-token",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.provision()
			w.secrets()
			w.machineWith("cp-1", true, c.change, c.config)
			w.waits("cp-1", bootstrapv1.DataSecretNotAvailableReason, c.want)
		})
	}
}

func TestWorkerOfAnotherControlPlane(t *testing.T) {
	w := newWorld(t)
	w.updateCluster(func(c *clusterv1.Cluster) { c.Spec.ControlPlaneRef.Kind = "KubeadmControlPlane" })
	w.provision()
	w.initialize()
	w.worker("md-1", nil)
	w.waits("md-1", bootstrapv1.DataSecretNotAvailableReason, "an RKE2Config can join an RKE2ControlPlane only")
}

func TestReferencedContent(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "content"},
		Data:       map[string]string{"resolv.conf": "nameserver 10.0.0.53\n", "a.yaml": "kind: A\n", "motd": "  hello\n"},
	}
	w.Expect(api.Create(w.ctx, configMap)).To(Succeed())
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.ManifestsConfigMapReference.Name = "content" })
	w.machineWith("cp-1", true, nil, func(c *bootstrapv1.RKE2Config) {
		c.Spec.AgentConfig.ResolvConf = &corev1.ObjectReference{Name: "content"}
		c.Spec.Files = []bootstrapv1.File{{Path: "/etc/motd", ContentFrom: &bootstrapv1.FileSource{ConfigMap: &bootstrapv1.FileSourceRef{Name: "content", Key: "motd"}}}}
	})
	files := filesOf(w, w.hasData("cp-1"))
	w.Expect(files).To(HaveKeyWithValue("/etc/rancher/rke2/resolv.conf", "nameserver 10.0.0.53\n"))
	w.Expect(files).To(HaveKeyWithValue("/var/lib/rancher/rke2/server/manifests/a.yaml", "kind: A\n"))
	w.Expect(files).To(HaveKeyWithValue("/etc/motd", "  hello\n"))
}

// TestReferencedSecrets resolves every Secret a server can refer to.
func TestReferencedSecrets(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "content"},
		StringData: map[string]string{
			"audit-policy.yaml": "kind: Policy\n", "endpoint": "postgres://db", "ca.pem": "ca\n",
			"aws_access_key_id": "access", "aws_secret_access_key": "secret", "username": "u", "password": "p", "ca.crt": "registry ca\n",
		},
	}
	w.Expect(api.Create(w.ctx, secret)).To(Succeed())
	ref := corev1.ObjectReference{Name: "content"}
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Annotations = map[string]string{controlplanev1.FirstServerByAnnotation: controlplanev1.FirstServerByDrover}
		cp.Spec.ServerConfig.AuditPolicySecret = &ref
		cp.Spec.ServerConfig.ExternalDatastoreSecret = &ref
		cp.Spec.ServerConfig.Etcd.BackupConfig.S3 = &controlplanev1.EtcdS3{
			Endpoint: "s3.example", S3CredentialSecret: &ref, EndpointCASecret: &ref,
		}
	})
	w.machineWith("cp-1", true, nil, func(c *bootstrapv1.RKE2Config) {
		c.Spec.PrivateRegistriesConfig.Configs = map[string]bootstrapv1.RegistryConfig{
			"r.example": {AuthSecret: ref, TLS: bootstrapv1.TLSConfig{TLSConfigSecret: ref}},
		}
	})
	data := w.hasData("cp-1")
	files := filesOf(w, data)
	for path, want := range map[string]string{
		"audit-policy.yaml": "kind: Policy\n", "datastore-ca.crt": "ca\n", "tls/r.example/ca.crt": "registry ca\n",
	} {
		w.Expect(files).To(HaveKeyWithValue("/etc/rancher/rke2/"+path, want))
	}
	w.Expect(files["/etc/rancher/rke2/registries.yaml"]).To(ContainSubstring("password: p"))
	config := nodeConfig(w, data)
	w.Expect(config).To(HaveKeyWithValue("etcd-s3-config-secret", "rke2-etcd-snapshot-s3-config"))
	w.Expect(config).NotTo(HaveKey("etcd-s3-access-key"))
	w.Expect(config).To(HaveKeyWithValue("datastore-endpoint", "postgres://db"))
	w.Expect(config).NotTo(HaveKey("etcd-s3-skip-ssl-verify"))
}
