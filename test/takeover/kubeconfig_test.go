package takeover_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Secret's type can't be changed. The kubeconfig that was taken over keeps
// its own: it is renewed in place, and only one that somebody deletes is made
// anew with the type that Cluster API asks for.
func TestKubeconfigOfTheFormerProvider(t *testing.T) {
	in := newIncumbent(newWorld(t), releases()[3], "v1beta1")
	in.adopt()
	in.resync()
	secret := &corev1.Secret{}
	in.get("demo-kubeconfig", secret)
	uid := secret.UID
	in.Expect(secret.Type).To(Equal(corev1.SecretTypeOpaque))

	// The endpoint moves; the kubeconfig follows in place.
	cluster := &clusterv1.Cluster{}
	in.get("demo", cluster)
	before := cluster.DeepCopy()
	cluster.Spec.ControlPlaneEndpoint.Port = 7443
	in.Expect(api.Patch(in.ctx, cluster, client.MergeFrom(before))).To(Succeed())
	in.Eventually(func(g Gomega) {
		in.get("demo-kubeconfig", secret)
		config, err := clientcmd.Load(secret.Data["value"])
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.Clusters["demo"].Server).To(Equal("https://10.0.0.1:7443"))
	}).WithTimeout(patience).Should(Succeed())
	in.Expect(secret.UID).To(Equal(uid))
	in.Expect(secret.Type).To(Equal(corev1.SecretTypeOpaque))

	in.Expect(api.Delete(in.ctx, secret)).To(Succeed())
	in.Eventually(func(g Gomega) {
		remade := &corev1.Secret{}
		g.Expect(api.Get(in.ctx, client.ObjectKeyFromObject(secret), remade)).To(Succeed())
		g.Expect(remade.UID).NotTo(Equal(uid))
		g.Expect(remade.Type).To(Equal(clusterv1.ClusterSecretType))
	}).WithTimeout(patience).Should(Succeed())
}
