package plan_test

import (
	"testing"

	"github.com/drover-project/drover/internal/model"
)

// TestHookReasonMatrix is the table of scenario S2: only the exact reason, and
// no hook of others, may lead to a member call.
func TestHookReasonMatrix(t *testing.T) {
	phases := []model.Phase{
		model.PhaseNone, model.PhaseWaitingForPreDrain, model.PhaseDraining, model.PhaseWaitingForVolumes,
		model.PhaseWaitingForPreTerm, model.PhaseDeletingInfra,
	}
	for _, p := range phases {
		for _, foreign := range []bool{false, true} {
			for _, exclusion := range []bool{false, true} {
				s := healthy(4, replicas(3), deleting(2, p), func(s *model.Snapshot) { s.ControlPlane.ExcludeFromLoadBalancers = exclusion })
				if foreign {
					s.Machines[1].ForeignPreTerminate = []model.Hook{{Name: "backup", Owner: "ops"}}
				}
				d := decideChecked(t, s)
				_, asks := d.Action.(model.AskForMemberRemoval)
				_, removes := d.Action.(model.RemoveMember)
				if want := p == model.PhaseWaitingForPreTerm && !foreign; (asks || removes) != want {
					t.Errorf("phase %q, foreign hook %v: %v", p, foreign, d)
				}
				_, labels := d.Action.(model.ExcludeFromLoadBalancers)
				if want := p == model.PhaseWaitingForPreDrain && exclusion; labels != want {
					t.Errorf("phase %q, exclusion %v: %v", p, exclusion, d)
				}
			}
		}
	}
}

// What core says of a Machine that it has not come past our pre-drain hook
// with: the Machine had no Node when it was deleted, or none was to stay.
func TestPreTerminateBeforeTheDrain(t *testing.T) {
	undrained := machine(1, func(m *model.Machine) { m.PreDrainHook = true })
	run(t, []tcase{
		{
			name:  "its Node has come since: core comes back, nothing is removed",
			given: healthy(4, replicas(3), deleting(1, model.PhaseWaitingForPreTerm), undrained),
			rule:  "drain_comes_before_member", blames: "cp-1",
		},
		{
			name:   "another one that is drained goes first",
			given:  healthy(5, replicas(3), deleting(1, model.PhaseWaitingForPreTerm), undrained, deleting(2, model.PhaseWaitingForPreTerm)),
			action: model.AskForMemberRemoval{Machine: "cp-2", Member: 2},
		},
		{
			name:   "all servers were deleted at once: the first replacement comes before anything",
			given:  healthy(3, deleting(1, model.PhaseWaitingForPreTerm), deleting(2, model.PhaseWaitingForPreTerm), deleting(3, model.PhaseWaitingForPreTerm), undrained),
			action: model.CreateMachine{Purpose: model.Rescue},
		},
		{
			name: "without a Node nothing is to be drained",
			given: healthy(4, replicas(3), deleting(4, model.PhaseWaitingForPreTerm), removed(4), machine(4, func(m *model.Machine) {
				m.PreDrainHook, m.NodeName, m.NodeAbsent = true, "", true
			})),
			action: model.ReleasePreTerminateHook{Machine: "cp-4"},
		},
	})
}
