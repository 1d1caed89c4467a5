package bootstrap

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// running is a world whose cluster can be joined.
func running(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.initialize()
	return w
}

// pool makes a MachinePool with its config, both called pool, owned as Cluster API leaves them.
func (w *world) pool(change func(*clusterv1.MachinePool), changeConfig func(*bootstrapv1.RKE2Config)) {
	w.Helper()
	pool := &clusterv1.MachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "pool"},
		Spec: clusterv1.MachinePoolSpec{ClusterName: "demo", Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
			ClusterName: "demo", Version: "v1.36.3+rke2r1",
			Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: bootstrapv1.GroupVersion.Group, Kind: configKind, Name: "pool",
			}},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "TestMachinePool", Name: "pool",
			},
		}}},
	}
	if change != nil {
		change(pool)
	}
	w.Expect(api.Create(w.ctx, pool)).To(Succeed())
	config := &bootstrapv1.RKE2Config{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "pool", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
		OwnerReferences: []metav1.OwnerReference{{
			// Another version of the API means the same object.
			APIVersion: clusterv1.GroupVersion.Group + "/v1beta1", Kind: poolKind, Name: "pool", UID: pool.UID, Controller: ptr.To(true),
		}},
	}}
	if changeConfig != nil {
		changeConfig(config)
	}
	w.Expect(api.Create(w.ctx, config)).To(Succeed())
}

func (w *world) updatePool(change func(*clusterv1.MachinePool)) {
	w.Helper()
	pool := &clusterv1.MachinePool{}
	w.get("pool", pool)
	w.patch(pool, func() { change(pool) })
}

func (w *world) updateConfig(change func(*bootstrapv1.RKE2Config)) {
	w.Helper()
	config := w.config("pool")
	w.patch(config, func() { change(config) })
}

// data returns the Secret of the pool's data.
func (w *world) data() *corev1.Secret {
	w.Helper()
	secret := &corev1.Secret{}
	w.get("pool", secret)
	return secret
}

// renewed waits until the data hold the text.
func (w *world) renewed(text string) {
	w.Helper()
	w.eventually(func(g Gomega) {
		secret := &corev1.Secret{}
		g.Expect(api.Get(w.ctx, w.key("pool"), secret)).To(Succeed())
		g.Expect(string(secret.Data["value"])).To(ContainSubstring(text))
	})
}

// tells waits for an event about the pool's config.
func (w *world) tells(reason, note string) {
	w.Helper()
	w.eventually(func(g Gomega) {
		list := &eventsv1.EventList{}
		g.Expect(api.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
		var notes []string
		for i := range list.Items {
			if list.Items[i].Reason == reason {
				notes = append(notes, list.Items[i].Note)
			}
		}
		g.Expect(notes).To(ContainElement(note))
	})
}

// reconciledWithoutWrite looks at the config once more and requires that nothing at all is written.
func (w *world) reconciledWithoutWrite() {
	w.Helper()
	secret, config := w.data(), w.config("pool")
	direct := &Reconciler{Client: api, APIReader: api}
	_, err := direct.Reconcile(w.ctx, ctrl.Request{NamespacedName: w.key("pool")})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.data().ResourceVersion).To(Equal(secret.ResourceVersion), "the Secret was written without a change")
	w.Expect(w.config("pool").ResourceVersion).To(Equal(config.ResourceVersion), "the config was written without a change")
}

// pause pauses the cluster and waits until that is known of the pool's config.
func (w *world) pause() {
	w.Helper()
	w.updateCluster(func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	w.eventually(func(g Gomega) {
		g.Expect(conditions.IsTrue(w.config("pool"), clusterv1.PausedCondition)).To(BeTrue())
	})
}

// resume ends the pause.
func (w *world) resume() {
	w.Helper()
	w.updateCluster(func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(false) })
}
