package plan_test

import (
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// TestSecondFailureWhileLeaving is the deadlock of other providers: a server is
// leaving, drained, and another one dies.
func TestSecondFailureWhileLeaving(t *testing.T) {
	run(t, []tcase{
		{
			name:  "nobody deleted the dead one: it is named, nothing is removed",
			given: healthy(3, surge(0), deleting(1, model.PhaseWaitingForPreTerm), dead(2)),
			rule:  "quorum_survives_removal", blames: "node-cp-2-0000000a",
		},
		{
			name:   "the dead one is deleted: its member goes first",
			given:  healthy(3, surge(0), deleting(1, model.PhaseWaitingForPreTerm), dead(2), deleting(2, model.PhaseWaitingForPreDrain)),
			action: model.RemoveMember{Member: 2, Ground: model.HostDead, Name: "node-cp-2-0000000a", Machine: "cp-2"},
			rule:   "dead_member_goes_first",
		},
		{
			name:  "silence of a living Node is no proof",
			given: healthy(3, surge(0), deleting(1, model.PhaseWaitingForPreTerm), silent(2), deleting(2, model.PhaseWaitingForPreDrain)),
			rule:  "quorum_survives_removal",
		},
		{
			name:   "then a replacement is made while two are deleting",
			given:  healthy(3, surge(0), deleting(1, model.PhaseWaitingForPreTerm), dead(2), deleting(2, model.PhaseWaitingForPreDrain), removed(2)),
			action: model.CreateMachine{Purpose: model.Rescue}, rule: "quorum_survives_removal",
		},
		{
			name: "a voter whose host is about to be destroyed counts as lost",
			given: healthy(3, replicas(2), dead(2), deleting(2, model.PhaseWaitingForPreDrain), deleting(3, model.PhaseDeletingInfra),
				machine(3, func(m *model.Machine) { m.PreTerminateHook = false }), member(3, func(m *model.Member) { m.Doomed = true })),
			rule: "released_server_disappears", blames: "cp-3",
		},
		{
			name:   "infrastructure that is gone is proof without a deletion",
			given:  healthy(3, dead(2), machine(2, func(m *model.Machine) { m.InfrastructureGone = model.Known(true, now) })),
			action: model.RemoveMember{Member: 2, Ground: model.HostDead, Name: "node-cp-2-0000000a", Machine: "cp-2"},
		},
	})
}

// RKE2 was asked to remove a member and may stop it at any moment: until it is
// off the list no other one is removed.
func TestOneRemovalAtATime(t *testing.T) {
	asked := machine(2, func(m *model.Machine) {
		m.Node.Value.RemovalAsked, m.Node.Value.RemovalAskedAt = true, ago(time.Second)
	})
	askedLongAgo := machine(2, func(m *model.Machine) { m.Node.Value.RemovalAsked, m.Node.Value.RemovalAskedAt = true, ago(time.Hour) })
	run(t, []tcase{
		{
			name:  "not that of another server that is drained",
			given: healthy(5, replicas(3), deleting(1, model.PhaseWaitingForPreTerm), deleting(2, model.PhaseWaitingForPreTerm), asked),
			rule:  "member_is_removed_by_the_safe_path", blames: "node-cp-2",
		},
		{
			name:  "not that of a dead host",
			given: healthy(5, replicas(3), dead(1), deleting(1, model.PhaseWaitingForPreDrain), deleting(2, model.PhaseWaitingForPreTerm), asked),
			rule:  "member_is_removed_by_the_safe_path", blames: "node-cp-2",
		},
		{
			name:   "but the one under way is finished, though another server is missing meanwhile",
			given:  healthy(5, dead(1), deleting(1, model.PhaseWaitingForPreDrain), deleting(2, model.PhaseWaitingForPreTerm), askedLongAgo),
			action: model.RemoveMember{Member: 2, Ground: model.Drained, Name: "node-cp-2-0000000a", Machine: "cp-2"},
		},
		{
			name: "not an orphan",
			given: healthy(5, replicas(3), dead(5), deleting(2, model.PhaseWaitingForPreTerm), asked, member(5, func(m *model.Member) {
				m.Machine, m.UnmatchedSince = "", ago(time.Hour)
			})),
			rule: "member_is_removed_by_the_safe_path", blames: "node-cp-2",
		},
	})
}

// A member that leads is alive, although it can't be reached from here.
func TestWhoLeadsIsAlive(t *testing.T) {
	run(t, []tcase{
		{
			name: "a member without a Machine",
			given: healthy(3, func(s *model.Snapshot) {
				s.Etcd.Members.Value = append(s.Etcd.Members.Value, model.Member{
					ID: 9, Name: "gone-0000000a", Leader: true, UnmatchedSince: ago(time.Hour), NodeReady: model.No, Answers: model.Unknown[bool]("no Node", now),
				})
				s.Etcd.Members.Value[0].Leader = false
			}),
			rule: plan.Settled,
		},
	})
}
