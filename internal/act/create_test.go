package act_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/worldtest"
)

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
