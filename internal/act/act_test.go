package act_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

func TestDeleteMachine(t *testing.T) {
	f := setUp(t, 2, 0)
	f.Expect(f.do(model.DeleteMachine{Machine: "m0", Why: "outdated"})).To(Succeed())
	f.Expect(f.machine("m0").DeletionTimestamp.IsZero()).To(BeFalse())
	f.Expect(f.do(model.DeleteMachine{Machine: "m0", Why: "outdated"})).To(Succeed(), "it can be repeated")
	f.Expect(f.writes).To(Equal([]string{"delete m0"}))
}

func TestDeleteMachineRefuses(t *testing.T) {
	t.Run("without hooks", func(t *testing.T) {
		f := setUp(t, 1, 0)
		m := f.machine("m0")
		delete(m.Annotations, controlplanev1.PreTerminateHookCleanupAnnotation)
		f.Expect(f.Management.Update(t.Context(), m)).To(Succeed())
		f.Expect(f.do(model.DeleteMachine{Machine: "m0"})).To(beRefused("does not carry the hook"))
	})
	t.Run("when another one is deleted meanwhile", func(t *testing.T) {
		f := setUp(t, 2, 0)
		s, snap := f.Scope(), f.observe()
		f.leave("m1", model.PhaseWaitingForPreDrain)
		f.Expect(f.actor.Do(t.Context(), s, snap, model.DeleteMachine{Machine: "m0"})).To(beRefused("Machine m1 has been deleted"))
	})
	t.Run("when the name is another Machine's now", func(t *testing.T) {
		f := setUp(t, 1, 0)
		s, snap := f.Scope(), f.observe()
		snap.Machines[0].UID = "former"
		f.Expect(f.actor.Do(t.Context(), s, snap, model.DeleteMachine{Machine: "m0"})).To(beRefused("was not there"))
	})
}

func TestHooks(t *testing.T) {
	f := setUp(t, 2, 0)
	m := f.machine("m0")
	delete(m.Annotations, controlplanev1.PreTerminateHookCleanupAnnotation)
	delete(m.Annotations, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation)
	f.Expect(f.Management.Update(t.Context(), m)).To(Succeed())
	f.record(nil)
	f.Expect(f.do(model.RestoreHooks{Machine: "m0"})).To(Succeed())
	f.Expect(f.writes).To(Equal([]string{"patch m0"}))
	f.Expect(f.machine("m0").Annotations).To(And(HaveKey(controlplanev1.PreTerminateHookCleanupAnnotation), HaveKey(controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation)))
	f.Expect(f.do(model.RestoreHooks{Machine: "m0"})).To(Succeed())
	f.Expect(f.writes).To(HaveLen(1), "no write when nothing changes")

	f.Expect(f.do(model.ReleasePreDrainHook{Machine: "m0"})).To(beRefused("not being deleted"))
	f.leave("m0", model.PhaseWaitingForPreDrain)
	f.Expect(f.do(model.ReleasePreDrainHook{Machine: "m0"})).To(Succeed())
	f.Expect(f.writes).To(Equal([]string{"patch m0"}))
	f.Expect(f.machine("m0").Annotations).NotTo(HaveKey(controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation))

	f.leave("m1", model.PhaseWaitingForPreDrain)
	f.Expect(f.do(model.ReleasePreDrainHook{Machine: "m1"})).To(beRefused("Machine m0 is already leaving"))
	f.Expect(f.do(model.DropHooks{Machine: "m1"})).To(beRefused("neither the control plane nor its Cluster"))
}

func TestStaleMachineIsNotPatched(t *testing.T) {
	f := setUp(t, 1, 0)
	f.leave("m0", model.PhaseWaitingForPreDrain)
	changed := false
	f.Calls = func(verb string, _ client.Object) error {
		if verb == "patch" && !changed {
			changed = true
			m := f.machine("m0")
			m.Annotations["somebody/else"] = "was here"
			return f.Management.Update(t.Context(), m)
		}
		return nil
	}
	f.Expect(f.do(model.ReleasePreDrainHook{Machine: "m0"})).To(beRefused("has changed since it was read"))
	f.Expect(f.machine("m0").Annotations).To(HaveKey(controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation))
}

func TestExcludeFromLoadBalancers(t *testing.T) {
	f := setUp(t, 1, 0)
	f.Expect(f.do(model.ExcludeFromLoadBalancers{Machine: "m0"})).To(beRefused("not being deleted"))
	f.leave("m0", model.PhaseWaitingForPreDrain)
	f.Expect(f.do(model.ExcludeFromLoadBalancers{Machine: "m0"})).To(Succeed())
	n := f.observe().Machines[0].Node.Value
	f.Expect(n.Excluded).To(BeTrue())
	f.Expect(n.ExcludedAt).To(BeTemporally("~", time.Now(), 10*time.Second))
	version := f.node("n0").ResourceVersion
	f.Expect(f.do(model.ExcludeFromLoadBalancers{Machine: "m0"})).To(Succeed())
	f.Expect(f.node("n0").ResourceVersion).To(Equal(version), "the time is not moved by a repetition")
}

func TestWholeDeletion(t *testing.T) {
	f := setUp(t, 2, 0)
	f.Expect(f.Management.Delete(t.Context(), f.Scope().ControlPlane)).To(Succeed())
	f.record(nil)
	for _, name := range []string{"m0", "m1"} {
		f.Expect(f.do(model.DropHooks{Machine: name})).To(Succeed())
		f.Expect(f.do(model.DeleteMachine{Machine: name})).To(Succeed())
	}
	f.Expect(f.writes).To(Equal([]string{"patch m0", "delete m0", "patch m1", "delete m1"}))
	f.Expect(f.do(model.FinishDeletion{})).To(beRefused("2 Machines are still there"))
	s, snap := f.Scope(), f.observe()
	for _, name := range []string{"m0", "m1"} {
		m := f.machine(name)
		m.Finalizers = nil
		f.Expect(f.Management.Update(t.Context(), m)).To(Succeed())
	}
	f.Expect(f.actor.Do(t.Context(), s, snap, model.FinishDeletion{})).To(Succeed())
	err := f.Management.Get(t.Context(), client.ObjectKeyFromObject(f.ControlPlane), &controlplanev1.RKE2ControlPlane{})
	f.Expect(client.IgnoreNotFound(err)).To(Succeed())
	f.Expect(err).To(HaveOccurred(), "both finalizers are off")
	f.Expect(f.actor.Do(t.Context(), s, snap, model.FinishDeletion{})).To(Succeed(), "it can be repeated")
}
