package act_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/world/worldtest"
)

// errCrash stands for the end of the process before a write.
var errCrash = errors.New("crash")

type fixture struct {
	*worldtest.World
	Gomega
	t      *testing.T
	actor  *act.Actor
	events *events.FakeRecorder
	// writes are the writes to the management cluster, as "verb Kind name".
	writes []string
	suffix int
}

// setUp makes a world with the given servers; with members, real etcd runs.
func setUp(t *testing.T, servers, members int) *fixture {
	t.Helper()
	f := &fixture{World: worldtest.New(t, members), Gomega: NewWithT(t), t: t, events: events.NewFakeRecorder(100)}
	for i := range servers {
		f.AddServer(i)
	}
	f.record(nil)
	f.actor = act.New(act.Options{
		Client: f.Management, Live: f.Management, Connector: f.Connector(), Recorder: f.events,
		Suffix: func() string { f.suffix++; return fmt.Sprintf("x%d", f.suffix) },
	})
	return f
}

// record notes every write from now on, and fails those that crash says.
func (f *fixture) record(crash func(n int) error) {
	f.writes = nil
	f.Calls = func(verb string, obj client.Object) error {
		if crash != nil {
			if err := crash(len(f.writes)); err != nil {
				return err
			}
		}
		f.writes = append(f.writes, verb+" "+obj.GetName())
		return nil
	}
}

func (f *fixture) observe() model.Snapshot {
	f.t.Helper()
	o := observe.New(observe.Options{Client: f.Management, Live: f.Management, Connector: f.Connector()})
	snap, err := o.Observe(f.t.Context(), f.Scope())
	f.Expect(err).NotTo(HaveOccurred())
	return snap
}

// do observes and carries out an action on what was seen.
func (f *fixture) do(a model.Action) error {
	f.t.Helper()
	return f.actor.Do(f.t.Context(), f.Scope(), f.observe(), a)
}

func (f *fixture) machine(name string) *clusterv1.Machine {
	f.t.Helper()
	m := &clusterv1.Machine{}
	f.Expect(f.Management.Get(f.t.Context(), client.ObjectKey{Namespace: worldtest.Namespace, Name: name}, m)).To(Succeed())
	return m
}

func (f *fixture) node(name string) *corev1.Node {
	f.t.Helper()
	n := &corev1.Node{}
	f.Expect(f.Workload.Get(f.t.Context(), client.ObjectKey{Name: name}, n)).To(Succeed())
	return n
}

// leave deletes a Machine and puts core at the given phase.
func (f *fixture) leave(name string, phase model.Phase) {
	f.t.Helper()
	m := f.machine(name)
	m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: string(phase), LastTransitionTime: metav1.Now()}}
	f.Expect(f.Management.Status().Update(f.t.Context(), m)).To(Succeed())
	f.Expect(f.Management.Delete(f.t.Context(), m)).To(Succeed())
	f.record(nil)
}

func (f *fixture) annotate(name, key string) {
	f.t.Helper()
	m := f.machine(name)
	before := m.DeepCopy()
	m.Annotations[key] = ""
	f.Expect(f.Management.Patch(f.t.Context(), m, client.MergeFrom(before))).To(Succeed())
	f.record(nil)
}

func beRefused(reason string) OmegaMatcher {
	return And(WithTransform(act.IsRefused, BeTrue()), MatchError(ContainSubstring(reason)))
}

func (f *fixture) lastEvent() string {
	f.t.Helper()
	last := ""
	for {
		select {
		case last = <-f.events.Events:
		default:
			return last
		}
	}
}

func TestCreateFirstServer(t *testing.T) {
	f := setUp(t, 0, 0)
	f.Expect(f.do(model.CreateMachine{Purpose: model.First, FailureDomain: "a"})).To(Succeed())
	f.Expect(f.writes).To(Equal([]string{"patch cp", "create cp-x1", "create cp-x1", "apply cp-x1"}), "the Machine comes last")

	s := f.Scope()
	f.Expect(s.ControlPlane.Annotations).To(HaveKeyWithValue(controlplanev1.FirstServerByAnnotation, controlplanev1.FirstServerByDrover))
	m := f.machine("cp-x1")
	f.Expect(m.Annotations).To(HaveKey(controlplanev1.PreTerminateHookCleanupAnnotation))
	f.Expect(m.Annotations).To(HaveKey(controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation))
	f.Expect(m.Annotations).To(HaveKey(controlplanev1.ServerConfigurationAnnotation))
	f.Expect(m.Labels).To(And(HaveKeyWithValue(clusterv1.ClusterNameLabel, "c"), HaveKey(clusterv1.MachineControlPlaneLabel), HaveKeyWithValue(clusterv1.MachineControlPlaneNameLabel, "cp")))
	f.Expect(metav1.IsControlledBy(m, s.ControlPlane)).To(BeTrue())
	f.Expect(m.Spec.FailureDomain).To(Equal("a"))
	f.Expect(m.Spec.Version).To(Equal(worldtest.Version))
	f.Expect(s.Configs).To(HaveKey("cp-x1"))
	infra := s.Infrastructure["cp-x1"].Object
	f.Expect(infra).NotTo(BeNil())
	f.Expect(infra.GetAnnotations()).To(HaveKeyWithValue(clusterv1.TemplateClonedFromNameAnnotation, "t"))
	f.Expect(f.lastEvent()).To(ContainSubstring("Normal CreateMachine create a Machine in failure domain a (first server)"))

	f.Expect(f.observe().Machines[0].Outdated).To(BeEmpty(), "what was just made is up to date")
}

func TestCreateRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*fixture)
		action model.CreateMachine
		want   string
	}{
		"a Machine nobody knew of": {
			change: func(f *fixture) { f.AddServer(1) }, action: model.CreateMachine{Purpose: model.ScaleUp}, want: "Machine m1 was not there",
		},
		"a Machine is being deleted": {
			change: func(f *fixture) { f.leave("m0", model.PhaseWaitingForPreDrain) }, action: model.CreateMachine{Purpose: model.ScaleUp}, want: "Machine m0 has been deleted",
		},
		"there is a first server": {action: model.CreateMachine{Purpose: model.First}, want: "second cluster"},
		"the spec changed": {
			change: func(f *fixture) {
				cp := f.Scope().ControlPlane
				cp.Generation = 2
				f.Expect(f.Management.Update(f.t.Context(), cp)).To(Succeed())
			}, action: model.CreateMachine{Purpose: model.ScaleUp}, want: "spec of the control plane has changed",
		},
		"the control plane is being deleted": {
			change: func(f *fixture) {
				f.Expect(f.Management.Delete(f.t.Context(), f.Scope().ControlPlane)).To(Succeed())
			}, action: model.CreateMachine{Purpose: model.ScaleUp}, want: "being deleted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := setUp(t, 1, 0)
			s, snap := f.Scope(), f.observe()
			if tt.change != nil {
				tt.change(f)
			}
			f.record(nil)
			f.Expect(f.actor.Do(t.Context(), s, snap, tt.action)).To(beRefused(tt.want))
			f.Expect(f.writes).To(BeEmpty())
			f.Expect(f.lastEvent()).To(ContainSubstring(act.RefusedEvent))
		})
	}
}

func TestCreateNamesAMissingTemplate(t *testing.T) {
	f := setUp(t, 1, 0)
	f.Expect(f.Management.Delete(t.Context(), worldtest.Template("t"))).To(Succeed())
	f.Expect(f.do(model.CreateMachine{Purpose: model.ScaleUp})).To(MatchError(
		"create server: infrastructure template LabMachineTemplate demo/t: not found; create it or correct spec.machineTemplate.spec.infrastructureRef"))
	f.Expect(f.lastEvent()).To(ContainSubstring("Warning " + controlplanev1.FailedScaleUpEvent))
}

// After a failed write nothing half-made stays, and after a crash the next
// attempt clears what was left.
func TestCreateLeavesNothingHalfMade(t *testing.T) {
	for at := range 3 {
		t.Run(fmt.Sprintf("write %d fails", at), func(t *testing.T) {
			f := setUp(t, 1, 0)
			f.record(func(n int) error {
				if n == at {
					return errCrash
				}
				return nil
			})
			f.Calls = failOnce(f.Calls)
			f.Expect(f.do(model.CreateMachine{Purpose: model.ScaleUp})).To(MatchError(errCrash))
			f.expectWhole(1)
		})
		t.Run(fmt.Sprintf("crash before write %d", at), func(t *testing.T) {
			f := setUp(t, 1, 0)
			f.record(func(n int) error {
				if n >= at {
					return errCrash
				}
				return nil
			})
			f.Expect(f.do(model.CreateMachine{Purpose: model.ScaleUp})).To(MatchError(errCrash))
			f.record(nil)
			f.Expect(f.do(model.CreateMachine{Purpose: model.ScaleUp})).To(Succeed())
			f.expectWhole(2)
		})
	}
}

// failOnce lets the first failure through and then repairs the world.
func failOnce(calls func(string, client.Object) error) func(string, client.Object) error {
	failed := false
	return func(verb string, obj client.Object) error {
		if failed {
			return nil
		}
		err := calls(verb, obj)
		failed = err != nil
		return err
	}
}

// expectWhole checks that there are so many servers, and nothing besides.
func (f *fixture) expectWhole(n int) {
	f.t.Helper()
	s := f.Scope()
	f.Expect(s.Machines).To(HaveLen(n))
	f.Expect(s.Configs).To(HaveLen(n))
	for _, kind := range []string{"LabMachine", "RKE2Config"} {
		list := worldtest.List(kind)
		f.Expect(f.Management.List(f.t.Context(), list)).To(Succeed())
		f.Expect(list.Items).To(HaveLen(n), kind)
	}
}

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
