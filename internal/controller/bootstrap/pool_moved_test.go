package bootstrap

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
)

// After a move the objects are the same, without their status.
func TestMovedPool(t *testing.T) {
	w := running(t)
	w.pool(nil, nil)
	before := w.hasData("pool")
	w.pause()
	w.updatePool(func(p *clusterv1.MachinePool) { p.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("pool") })
	config := w.config("pool")
	w.patchStatus(config, func() { config.Status = bootstrapv1.RKE2ConfigStatus{} })
	w.resume()
	w.Expect(w.hasData("pool").ResourceVersion).To(Equal(before.ResourceVersion))
	w.updatePool(func(p *clusterv1.MachinePool) { p.Spec.Template.Spec.Version = "v1.36.4+rke2r1" })
	w.renewed("v1.36.4+rke2r1")
}

// Data of another provider are kept until what they are made from changes: a takeover replaces no machine.
func TestPoolTakenOver(t *testing.T) {
	w := running(t)
	data := map[string][]byte{"value": []byte("#cloud-config"), "format": []byte("cloud-config")}
	w.Expect(api.Create(w.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "pool", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: bootstrapv1.GroupVersion.Group + "/v1beta1", Kind: configKind, Name: "pool", UID: "of-another-time", Controller: ptr.To(true),
			}},
		},
		Type: secrets.Type, Data: data,
	})).To(Succeed())
	w.pool(func(p *clusterv1.MachinePool) { p.Spec.Template.Spec.Bootstrap.DataSecretName = ptr.To("pool") }, nil)
	w.eventually(func(g Gomega) {
		g.Expect(w.data().Annotations).To(HaveKey(bootstrapv1.MadeFromAnnotation))
		g.Expect(metav1.IsControlledBy(w.data(), w.config("pool"))).To(BeTrue())
	})
	w.Expect(w.hasData("pool").Data).To(Equal(data))
	w.reconciledWithoutWrite()
	w.updateConfig(func(c *bootstrapv1.RKE2Config) { c.Spec.PostRKE2Commands = []string{"echo ours"} })
	w.renewed("echo ours")
}
