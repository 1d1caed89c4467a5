package controlplane

import (
	"context"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/upkeep"
)

// counting counts the requests that could write, whether or not they change
// anything.
type counting struct {
	client.Client
	writes atomic.Int64
}

func (c *counting) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	c.writes.Add(1)
	return c.Client.Create(ctx, obj, opts...)
}

func (c *counting) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	c.writes.Add(1)
	return c.Client.Update(ctx, obj, opts...)
}

func (c *counting) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.writes.Add(1)
	return c.Client.Patch(ctx, obj, patch, opts...)
}

func (c *counting) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	c.writes.Add(1)
	return c.Client.Apply(ctx, obj, opts...)
}

func (c *counting) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	c.writes.Add(1)
	return c.Client.Delete(ctx, obj, opts...)
}

func (c *counting) Status() client.SubResourceWriter {
	return &countingStatus{SubResourceWriter: c.Client.Status(), writes: &c.writes}
}

type countingStatus struct {
	client.SubResourceWriter
	writes *atomic.Int64
}

func (c *countingStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	c.writes.Add(1)
	return c.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

func (c *countingStatus) Update(ctx context.Context, obj client.Object, opts ...client.SubResourceUpdateOption) error {
	c.writes.Add(1)
	return c.SubResourceWriter.Update(ctx, obj, opts...)
}

// counted is the reconciler under test with its writes counted.
func counted() (*Reconciler, *counting) {
	c := &counting{Client: underTest.Client}
	keeper := underTest.Keeper.(*upkeep.Upkeep)
	return &Reconciler{
		Client: c, Live: underTest.Live, Observer: underTest.Observer, Actor: underTest.Actor, Clusters: underTest.Clusters, Recorder: underTest.Recorder,
		Keeper: &upkeep.Upkeep{Client: c, Live: keeper.Live, Nodes: keeper.Nodes, Now: keeper.Now},
	}, c
}

// reconcileCounted reconciles five times and returns the number of requests
// that could write.
func (w *world) reconcileCounted() int64 {
	w.Helper()
	r, c := counted()
	for range 5 {
		_, err := r.Reconcile(w.ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "demo-cp"}})
		w.g.Expect(err).NotTo(HaveOccurred())
	}
	return c.writes.Load()
}

// Everything that is propagated in place reaches an existing Machine, whose
// server stays, and once it has, not one request is made that could write. What
// others put beside it stays and is no reason for one.
func TestPropagationInPlaceEndsInSilence(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	w.controlPlane()
	w.awaitMachines(1)
	w.expectQuiet()
	w.g.Expect(w.reconcileCounted()).To(BeZero())

	taint := clusterv1.MachineTaint{Key: "example.com/a", Value: "b", Effect: corev1.TaintEffectNoSchedule, Propagation: clusterv1.MachineTaintPropagationAlways}
	gate := clusterv1.MachineReadinessGate{ConditionType: "example.com/Backed"}
	w.update(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}
		cp.Spec.MachineTemplate.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{gate}
		cp.Spec.MachineTemplate.Spec.Taints = []clusterv1.MachineTaint{taint}
		cp.Spec.MachineTemplate.Spec.Deletion.NodeVolumeDetachTimeoutSeconds = ptr.To[int32](7)
	})
	w.awaitMachine(func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Labels).To(HaveKeyWithValue("a", "b"))
		g.Expect(m.Annotations).To(HaveKeyWithValue("c", "d"))
		g.Expect(m.Spec.ReadinessGates).To(And(ContainElement(gate), ContainElement(HaveField("ConditionType", controlplanev1.MachineEtcdMemberHealthyCondition))))
		g.Expect(m.Spec.Taints).To(ConsistOf(taint))
		g.Expect(m.Spec.Deletion.NodeVolumeDetachTimeoutSeconds).To(HaveValue(BeEquivalentTo(7)))
	})

	// Somebody else's webhook and kubectl have their say on the Machine.
	foreign := clusterv1.MachineReadinessGate{ConditionType: "example.com/Scanned"}
	m := w.machines()[0]
	before := m.DeepCopy()
	m.Labels["foreign"], m.Annotations["foreign"] = "label", "annotation"
	m.Spec.ReadinessGates = append(m.Spec.ReadinessGates, foreign)
	m.Spec.MinReadySeconds = ptr.To[int32](30)
	w.g.Expect(api.Patch(w.ctx, &m, client.MergeFrom(before), client.FieldOwner("somebody"))).To(Succeed())
	w.expectQuiet()
	w.g.Expect(w.reconcileCounted()).To(BeZero())
	w.g.Expect(w.machines()[0].Spec.ReadinessGates).To(ContainElement(foreign))
	w.g.Expect(w.get().Status.Rollout).To(BeNil(), "nothing of this replaces a server")

	w.update(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Spec.MachineTemplate.Spec.ReadinessGates, cp.Spec.MachineTemplate.Spec.Taints = nil, nil
	})
	w.awaitMachine(func(g Gomega, m *clusterv1.Machine) {
		g.Expect(m.Spec.Taints).To(BeEmpty())
		g.Expect(m.Spec.ReadinessGates).To(And(Not(ContainElement(gate)), ContainElement(foreign)))
		g.Expect(m.Spec.MinReadySeconds).To(HaveValue(BeEquivalentTo(30)))
	})
	w.expectQuiet()
	w.g.Expect(w.reconcileCounted()).To(BeZero())
	w.g.Expect(w.machines()).To(HaveLen(1))
}

// awaitMachine waits until the only Machine is as the check wants it.
func (w *world) awaitMachine(check func(Gomega, *clusterv1.Machine)) {
	w.Helper()
	w.g.Eventually(func(g Gomega) {
		machines := w.machines()
		g.Expect(machines).To(HaveLen(1))
		check(g, &machines[0])
	}).WithTimeout(patience).Should(Succeed())
}

// A held rollout is told in the status and not begun; with the annotation gone
// it begins.
func TestHeldRolloutIsPreviewed(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	seen.show(w.namespace, joined)
	w.controlPlane(func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.Replicas = ptr.To[int32](1) })
	machine := w.awaitMachines(1)[0]
	w.update(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Annotations[controlplanev1.HoldRolloutAnnotation] = "wait for Monday"
		cp.Spec.Files = append(cp.Spec.Files, bootstrapv1.File{Path: "/etc/motd", Content: "hello"})
	})
	w.g.Eventually(func() *controlplanev1.RolloutStatus { return w.get().Status.Rollout }).WithTimeout(patience).Should(HaveValue(And(
		HaveField("Pending", ConsistOf(controlplanev1.PendingReplacement{Machine: machine.Name, Reasons: []string{"RKE2 configuration changed: files"}})),
		HaveField("Held", ConsistOf("rollouts are held: wait for Monday")))))
	w.awaitCondition(controlplanev1.RollingOutCondition, "True", "wait for Monday", "rollout_is_held")
	w.expectQuiet()
	w.g.Expect(w.reconcileCounted()).To(BeZero())
	w.g.Expect(w.machines()).To(HaveLen(1))

	w.update(func(cp *controlplanev1.RKE2ControlPlane) {
		delete(cp.Annotations, controlplanev1.HoldRolloutAnnotation)
	})
	w.awaitMachines(2)
}
