package plan_test

import (
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
)

func TestHooksAreKept(t *testing.T) {
	lost := func(i int) change {
		return machine(i, func(m *model.Machine) { m.PreTerminateHook = false })
	}
	run(t, []tcase{
		{name: "put back on a Machine that stays", given: healthy(3, lost(2)), action: model.RestoreHooks{Machine: "cp-2"}, rule: "hooks_are_kept"},
		{
			name:   "put back while deleting, as long as the member is listed",
			given:  healthy(4, replicas(3), deleting(2, model.PhaseDraining), lost(2)),
			action: model.RestoreHooks{Machine: "cp-2", PreTerminateOnly: true},
		},
		{
			name:  "not after our own release",
			given: healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), lost(2), removed(2)),
			rule:  "released_server_disappears",
		},
		{
			name:  "not once the host is being destroyed",
			given: healthy(4, replicas(3), deleting(2, model.PhaseDeletingInfra), lost(2)),
			rule:  "released_server_disappears",
		},
	})
}

func TestOrphanMembers(t *testing.T) {
	orphan := func(since time.Duration, f func(*model.Member)) change {
		return func(s *model.Snapshot) {
			m := model.Member{ID: 9, Name: "node-old-0000000b", Answers: model.Known(false, now), NodeReady: model.No, UnmatchedSince: ago(since)}
			if f != nil {
				f(&m)
			}
			s.Etcd.Members.Value = append(s.Etcd.Members.Value, m)
		}
	}
	gone := model.RemoveMember{Member: 9, Ground: model.NoMachine, Name: "node-old-0000000b"}
	run(t, []tcase{
		{name: "removed after its grace", given: healthy(3, orphan(time.Minute, nil)), action: gone, rule: "orphan_member_is_removed"},
		{name: "not before", given: healthy(3, orphan(59*time.Second, nil)), rule: "settled"},
		{name: "not while a Machine without addresses may own it", given: healthy(3, orphan(5*time.Minute, nil), joining(4)), rule: "one_server_joins_at_a_time"},
		{name: "but after the join window", given: healthy(3, replicas(4), orphan(6*time.Minute, nil), joining(4)), action: gone},
		{name: "or when the host of that Machine is gone", given: healthy(3, replicas(4), orphan(time.Minute, nil), joining(4), machine(4, func(m *model.Machine) {
			m.InfrastructureGone = model.Known(true, now)
		})), action: gone},
		{name: "a member that answers is somebody's server", given: healthy(3, orphan(time.Hour, func(m *model.Member) { m.Answers = model.Known(true, now) })), rule: "settled"},
		{name: "a member with a Ready Node too", given: healthy(3, orphan(time.Hour, func(m *model.Member) { m.NodeReady = model.Yes })), rule: "settled"},
		{name: "a Node that does not report is no proof soon", given: healthy(3, orphan(5*time.Minute, func(m *model.Member) { m.NodeReady = model.Unclear })), rule: "settled"},
		{name: "but after the join window: core leaves Nodes behind", given: healthy(3, orphan(6*time.Minute, func(m *model.Member) { m.NodeReady = model.Unclear })), action: gone},
		{name: "an unnamed learner too", given: healthy(3, orphan(time.Minute, func(m *model.Member) { m.Name, m.Learner, m.PeerURLs = "", true, []string{"https://10.0.0.9:2380"} })),
			action: model.RemoveMember{Member: 9, Ground: model.NoMachine, Name: "unnamed member at https://10.0.0.9:2380"}},
		{name: "never at the price of quorum", given: healthy(3, orphan(time.Hour, nil), silent(2), silent(3)), rule: "settled"},
	})
}

func TestTeardown(t *testing.T) {
	whole := func(s *model.Snapshot) { s.ControlPlane.Deleting = true }
	noHooks := func(s *model.Snapshot) {
		for i := range s.Machines {
			s.Machines[i].PreDrainHook, s.Machines[i].PreTerminateHook = false, false
		}
	}
	run(t, []tcase{
		{name: "workers first", given: healthy(3, whole, func(s *model.Snapshot) { s.Cluster.Workers = 2 }), rule: "whole_control_plane_is_deleted", blames: "demo"},
		{name: "workers first, also in the middle of an upgrade", given: healthy(4, replicas(3), whole, deleting(1, model.PhaseDraining), func(s *model.Snapshot) { s.Cluster.Workers = 1 }),
			rule: "whole_control_plane_is_deleted", blames: "demo"},
		{name: "hooks are dropped", given: healthy(3, whole), action: model.DropHooks{Machine: "cp-1"}},
		{name: "Machines are deleted together", given: healthy(3, whole, noHooks, deleting(1, model.PhaseDeletingInfra)),
			action: model.DeleteMachine{Machine: "cp-2", Why: "the control plane is being deleted"}},
		{name: "also with nothing known", given: healthy(3, whole, membersUnknown), action: model.DropHooks{Machine: "cp-1"}},
		{name: "also in the middle of a removal", given: healthy(3, whole, deleting(2, model.PhaseWaitingForPreTerm)), action: model.DropHooks{Machine: "cp-1"}},
		{name: "no server is made while the Cluster goes", given: healthy(0, external, replicas(3), func(s *model.Snapshot) { s.Cluster.Deleting = true }), rule: "whole_control_plane_is_deleted", blames: "demo"},
		{name: "the Cluster's deletion counts too", given: healthy(1, func(s *model.Snapshot) { s.Cluster.Deleting = true }), action: model.DropHooks{Machine: "cp-1"}},
		{name: "the last ones are waited for", given: healthy(1, whole, noHooks, deleting(1, model.PhaseDeletingInfra)), rule: "whole_control_plane_is_deleted", blames: "cp-1"},
		{name: "then the object is let go", given: healthy(0, whole), action: model.FinishDeletion{}},
	})
}
