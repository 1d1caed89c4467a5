package takeover_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// moved moves a cluster into a world of its own. There, the workload cluster
// does not answer until it is made to.
func (in *incumbent) moved() *world {
	in.Helper()
	target := newWorld(in.T)
	seen.show(target.namespace, unseen)
	in.moveTo(target, func() {
		before := asText(target.objects())
		target.resync()
		in.Expect(asText(target.objects())).To(Equal(before), "something was written while the Cluster was paused")
	})
	return target
}

// asText is what objects consist of, apart from status and what the API server
// counts.
func asText(objects map[string]*unstructured.Unstructured) string {
	var b strings.Builder
	for _, key := range sortedKeys(objects) {
		obj := objects[key].DeepCopy()
		unstructured.RemoveNestedField(obj.Object, "status")
		obj.SetManagedFields(nil)
		obj.SetResourceVersion("")
		b.Write(must(obj.MarshalJSON()))
	}
	return b.String()
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// infrastructureIsBack plays core's and the infrastructure provider's part
// after a move: all they report is found anew.
func (w *world) infrastructureIsBack() {
	w.Helper()
	cluster := &clusterv1.Cluster{}
	w.get("demo", cluster)
	before := cluster.DeepCopy()
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	w.Expect(api.Status().Patch(w.ctx, cluster, client.MergeFrom(before), coreManager)).To(Succeed())
}

// serversAreBack plays core's part once it has reached the workload cluster.
func (w *world) serversAreBack() {
	w.Helper()
	for i, m := range w.machines() {
		before := m.DeepCopy()
		w.Expect(api.Status().Patch(w.ctx, withStatus(&m, i), client.MergeFrom(before), coreManager)).To(Succeed())
	}
}

// contents are the parts of objects that must come through a move unchanged.
func (w *world) contents() map[string]string {
	w.Helper()
	out := map[string]string{}
	for key, obj := range w.objects() {
		for _, part := range []string{"spec", "data", "type"} {
			out[key] += asJSON(w.T, obj.Object[part])
		}
	}
	return out
}

// contains expects what was there before a move, except for the Cluster, which
// is paused for it.
func (w *world) contains(want map[string]string) {
	w.Helper()
	got := w.contents()
	delete(want, "Cluster/demo")
	delete(got, "Cluster/demo")
	w.Expect(got).To(Equal(want))
}

func TestMoveReplacesAndRemakesNothing(t *testing.T) {
	everyIncumbent(t, func(_ *testing.T, in *incumbent) {
		in.adopt()
		in.resync()
		want := in.contents()
		target := in.moved()
		target.infrastructureIsBack()
		target.resync()
		target.Expect(target.readControlPlane().Status.Initialization.ControlPlaneInitialized).To(
			Or(BeNil(), HaveValue(BeTrue())), "said without having looked")

		seen.show(target.namespace, working)
		target.resync()
		target.contains(want)
		cp := target.readControlPlane()
		target.Expect(cp.Status.Initialization.ControlPlaneInitialized).To(HaveValue(BeTrue()))
		target.Expect(cp.Status.UpToDateReplicas).To(HaveValue(BeEquivalentTo(3)))
		target.Expect(cp.Status.Version).To(Equal(cp.Spec.Version))
		config := &bootstrapv1.RKE2Config{}
		target.get("demo-cp-c2jkl", config)
		target.Expect(config.Status.DataSecretName).To(HaveValue(Equal("demo-cp-c2jkl")))
		target.Expect(config.Status.Initialization.DataSecretCreated).To(HaveValue(BeTrue()))
		target.Expect(conditions.IsTrue(config, bootstrapv1.ReadyCondition)).To(BeTrue())
	})
}

// A cluster that the former provider moved here, or that is moved to Drover as
// the way of taking it over: nobody here has ever seen it.
func TestMoveFromTheFormerProvider(t *testing.T) {
	in := newIncumbent(newWorld(t), releases()[0], "v1beta1")
	want := in.contents()
	target := in.moved()
	target.infrastructureIsBack()
	target.resync()
	target.Expect(target.readControlPlane().Annotations).To(HaveKeyWithValue(controlplanev1.InitializedAnnotation, "true"))
	seen.show(target.namespace, working)
	target.resync()
	target.contains(want)
}

// A move in the middle of a change of all servers: those that are still the old
// ones look as if they had never come up, since nothing is known of them here.
func TestMoveInTheMiddleOfAnUpgrade(t *testing.T) {
	for _, r := range []release{releases()[3], legacy()} {
		in := newIncumbent(newWorld(t), r, "v1beta2")
		in.adopt()
		in.resync()
		in.pause(ptr.To(true))
		in.change(func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.Version = "v1.34.2+rke2r1" })
		target := in.moved()
		target.infrastructureIsBack()
		target.resync()
		for _, m := range target.machines() {
			target.Expect(m.DeletionTimestamp).To(BeNil(), "%s: %s is deleted without anything being known of it", r.name, m.Name)
		}
		target.Expect(target.machines()).To(HaveLen(3), r.name)

		// The cluster answers, and the change goes on: a server is made, and it
		// joins although the Cluster's own status does not know better yet.
		target.serversAreBack()
		seen.show(target.namespace, working)
		moved := &incumbent{world: target, release: r, ownerVersion: "v1beta2"}
		g := moved.grow()
		target.Expect(string(g.data.Data["value"])).To(ContainSubstring(":9345"), "%s: it starts a cluster of its own", r.name)
		target.Expect(string(g.data.Data["value"])).NotTo(ContainSubstring("server-ca.key"), r.name)
		cluster := &clusterv1.Cluster{}
		target.get("demo", cluster)
		target.Expect(cluster.Status.Initialization.ControlPlaneInitialized).To(BeNil())
	}
}

// Authorities that a user brought belong to nobody, and two of their names are
// not Cluster API's. They are moved all the same.
func TestAuthoritiesOfAUserAreMoved(t *testing.T) {
	w := newWorld(t)
	in := newIncumbent(w, releases()[3], "v1beta2")
	for _, name := range []string{"demo-ca", "demo-cca", "demo-etcd", "demo-peer-etcd"} {
		secret := &corev1.Secret{}
		in.get(name, secret)
		in.Expect(api.Delete(in.ctx, secret)).To(Succeed())
		in.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: name}, Type: corev1.SecretTypeTLS, Data: secret.Data})
	}
	in.adopt()
	in.resync()
	target := in.moved()
	for _, name := range []string{"demo-ca", "demo-cca", "demo-etcd", "demo-peer-etcd"} {
		was, is := &corev1.Secret{}, &corev1.Secret{}
		in.get(name, was)
		target.get(name, is)
		target.Expect(is.Data).To(Equal(was.Data), name)
		target.Expect(is.OwnerReferences).To(BeEmpty(), name)
	}
}
