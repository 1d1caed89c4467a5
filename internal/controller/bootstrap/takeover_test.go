package bootstrap

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
)

// After a move the Cluster's status is empty for a while. A server made in that time joins, and starts no second
// cluster.
func TestServerMadeRightAfterAMove(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.server("cp-1", func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = ptr.To("earlier") })
	w.server("cp-2", nil)
	w.waits("cp-2", bootstrapv1.WaitingForControlPlaneInitializedReason, "Machine cp-1 has its bootstrap data already")
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Annotations = map[string]string{controlplanev1.InitializedAnnotation: "true"}
	})
	w.Expect(nodeConfig(w, w.hasData("cp-2"))).To(HaveKeyWithValue("server", "https://10.0.0.1:9345"))
}

func TestDataOfAnotherProviderAreKept(t *testing.T) {
	w := newWorld(t)
	data := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "cp-1-x7k2p", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: bootstrapv1.GroupVersion.Group + "/v1beta1", Kind: configKind, Name: "cp-1", UID: "of-another-time", Controller: ptr.To(true),
			}},
		},
		Type: secrets.Type, Data: map[string][]byte{"value": []byte("#cloud-config"), "format": []byte("cloud-config")},
	}
	w.Expect(api.Create(w.ctx, data)).To(Succeed())
	w.server("cp-1", func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = ptr.To("cp-1-x7k2p") })
	w.eventually(func(g Gomega) {
		found := &corev1.Secret{}
		g.Expect(api.Get(w.ctx, w.key("cp-1-x7k2p"), found)).To(Succeed())
		g.Expect(found.OwnerReferences).To(Equal([]metav1.OwnerReference{
			*metav1.NewControllerRef(w.config("cp-1"), bootstrapv1.GroupVersion.WithKind(configKind)),
		}))
		g.Expect(found.Data).To(Equal(data.Data))
	})
}

// A legacy cluster has no etcd authorities in Secrets. Its first server needs none.
func TestFirstServerOfALegacyCluster(t *testing.T) {
	w := newWorld(t)
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Annotations = map[string]string{controlplanev1.LegacyAnnotation: ""}
	})
	w.provision()
	for _, purpose := range secrets.Purposes(true) {
		_, err := secrets.EnsureCA(w.ctx, api, api, w.key("demo"), purpose, w.owner())
		w.Expect(err).NotTo(HaveOccurred())
	}
	_, err := secrets.EnsureToken(w.ctx, api, api, w.key("demo"), w.owner())
	w.Expect(err).NotTo(HaveOccurred())
	w.server("cp-1", nil)
	files := filesOf(w, w.hasData("cp-1"))
	w.Expect(files).To(HaveKey("/var/lib/rancher/rke2/server/tls/server-ca.crt"))
	w.Expect(files).NotTo(HaveKey("/var/lib/rancher/rke2/server/tls/etcd/server-ca.crt"))
}

// Clusters taken over were made while TLS of S3 endpoints was not verified unless asked for.
func TestVerificationOfS3(t *testing.T) {
	for by, skip := range map[string]bool{"": true, controlplanev1.FirstServerByDrover: false} {
		w := newWorld(t)
		w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
			cp.Annotations = map[string]string{controlplanev1.FirstServerByAnnotation: by}
			cp.Spec.ServerConfig.Etcd.BackupConfig.S3 = &controlplanev1.EtcdS3{Endpoint: "s3.example.org"}
		})
		w.provision()
		w.secrets()
		w.initialize()
		w.server("cp-1", nil)
		config := nodeConfig(w, w.hasData("cp-1"))
		w.Expect(config).To(HaveKeyWithValue("etcd-s3-endpoint", "s3.example.org"))
		w.Expect(config["etcd-s3-skip-ssl-verify"] == true).To(Equal(skip), "first server by %q", by)
	}
}
