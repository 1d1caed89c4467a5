package plan_test

import (
	"slices"
	"testing"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

func TestHeldRollout(t *testing.T) {
	held := func(s *model.Snapshot) { s.ControlPlane.RolloutHeld = "freeze until Monday" }
	pending := func(s *model.Snapshot) { s.Cluster.PendingVersion = "v1.37.0+rke2r1" }
	old := "it is outdated: version v1.36.3+rke2r1, wanted v1.36.3+rke2r2"
	const rule = "rollout_is_held"
	run(t, []tcase{
		{name: "by the user", given: healthy(3, outdated(1, 2, 3), held), rule: rule, blames: "cp"},
		{name: "by the user, without surge", given: healthy(3, surge(0), outdated(1), held), rule: rule, blames: "cp"},
		{name: "by the topology", given: healthy(3, outdated(1), pending), rule: rule, blames: "demo"},
		{name: "by both", given: healthy(3, outdated(1), held, pending), rule: rule, blames: "demo"},
		{name: "nothing to hold", given: healthy(3, held, pending), rule: plan.Settled},
		{name: "a replacement that was made is the end of the old one", given: healthy(4, replicas(3), outdated(1, 2), held),
			action: model.DeleteMachine{Machine: "cp-1", Why: old}, rule: "surplus_server_is_deleted"},
		{name: "without surge, one that went is replaced", given: healthy(2, replicas(3), surge(0), outdated(1, 2), held),
			action: model.CreateMachine{Purpose: model.ScaleUp}, rule: "missing_server_is_created"},
		{name: "a deleted server leaves", given: healthy(3, outdated(1, 2), held, deleting(1, model.PhaseWaitingForPreDrain)),
			action: model.CreateMachine{Purpose: model.Rescue}},
		{name: "a dead server is seen to", given: healthy(3, outdated(1, 2, 3), dead(2), held),
			action: model.DeleteMachine{Machine: "cp-2", Why: "its host is dead and " + old}},
	})
	if waits := plan.RolloutHeld(healthy(3, held, pending)); len(waits) != 2 {
		t.Errorf("held by %v", waits)
	}
}

func TestDepartureOrder(t *testing.T) {
	for name, c := range map[string]struct {
		given model.Snapshot
		want  []string
	}{
		"none":           {healthy(3), nil},
		"oldest first":   {healthy(3, outdated(1, 2, 3)), []string{"cp-1", "cp-2", "cp-3"}},
		"only outdated":  {healthy(3, outdated(2)), []string{"cp-2"}},
		"not who leaves": {healthy(3, outdated(1, 2), deleting(1, model.PhaseDraining)), []string{"cp-2"}},
		"as the user wishes": {healthy(3, outdated(1, 2), machine(2, func(m *model.Machine) { m.DeletionWished = true })),
			[]string{"cp-2", "cp-1"}},
		"too many":                {healthy(5, replicas(3)), []string{"cp-1", "cp-2"}},
		"too many, some outdated": {healthy(4, replicas(3), outdated(2, 3)), []string{"cp-2", "cp-3"}},
		"too many, one wished for": {healthy(4, replicas(3), outdated(1), machine(3, func(m *model.Machine) { m.DeletionWished = true })),
			[]string{"cp-3", "cp-1"}},
		"another one is wished for": {healthy(3, outdated(1, 2), machine(3, func(m *model.Machine) { m.DeletionWished = true })),
			[]string{"cp-1", "cp-2"}},
	} {
		if got := plan.DepartureOrder(c.given); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Where RKE2 brings no network plugin and none was ever there, Nodes are never
// Ready, and that must not keep servers from being replaced. A kubelet that
// does not report is another matter.
func TestReplacingWithoutANetwork(t *testing.T) {
	without := func(s *model.Snapshot) {
		s.ControlPlane.NetworkOptional = true
		for i := range s.Machines {
			s.Machines[i].Node.Value.Ready = model.No
		}
	}
	run(t, []tcase{
		{name: "begins", given: healthy(3, outdated(1), without), action: model.CreateMachine{Purpose: model.Surge}},
		{name: "goes on", given: healthy(4, replicas(3), outdated(1), without),
			action: model.DeleteMachine{Machine: "cp-1", Why: "it is outdated: version v1.36.3+rke2r1, wanted v1.36.3+rke2r2"}},
		{name: "not with a silent kubelet", given: healthy(3, outdated(1), without, machine(2, func(m *model.Machine) { m.Node.Value.Ready = model.Unclear })),
			rule: "control_plane_is_healthy", blames: "cp-2"},
		{name: "not without a Node", given: healthy(3, outdated(1), without, machine(2, func(m *model.Machine) { m.Node.Value = model.Node{} })),
			rule: "control_plane_is_healthy", blames: "cp-2"},
		{name: "not where there was a network", given: healthy(3, outdated(1), without, func(s *model.Snapshot) { s.ControlPlane.NetworkOptional = false }),
			rule: "control_plane_is_healthy", blames: "cp-1"},
	})
}
