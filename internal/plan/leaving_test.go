package plan_test

import (
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
)

func TestBeforeTheDrain(t *testing.T) {
	run(t, []tcase{
		{
			name:  "a user's deletion gets its replacement first",
			given: healthy(3, deleting(1, model.PhaseWaitingForPreDrain)), action: model.CreateMachine{Purpose: model.Rescue},
			rule: "replacement_before_drain",
		},
		{
			name:  "the replacement is waited for",
			given: healthy(3, deleting(1, model.PhaseWaitingForPreDrain), joining(4)),
			rule:  "replacement_before_drain", blames: "cp-4",
		},
		{
			name:   "the old half of a replacement is taken out of load balancers",
			given:  healthy(4, replicas(3), outdated(1), deleting(1, model.PhaseWaitingForPreDrain)),
			action: model.ExcludeFromLoadBalancers{Machine: "cp-1"}, rule: "load_balancers_let_go_first",
		},
		{
			name:  "load balancers get time",
			given: healthy(4, replicas(3), deleting(1, model.PhaseWaitingForPreDrain), excluded(1, 3*time.Second)),
			rule:  "load_balancers_let_go_first", blames: "node-cp-1",
		},
		{
			name:   "after that time the drain is released",
			given:  healthy(4, replicas(3), deleting(1, model.PhaseWaitingForPreDrain), excluded(1, 10*time.Second)),
			action: model.ReleasePreDrainHook{Machine: "cp-1"}, rule: "drain_comes_before_member",
		},
		{
			name: "exclusion can be switched off",
			given: healthy(4, replicas(3), deleting(1, model.PhaseWaitingForPreDrain), func(s *model.Snapshot) {
				s.ControlPlane.ExcludeFromLoadBalancers = false
			}),
			action: model.ReleasePreDrainHook{Machine: "cp-1"},
		},
		{
			name:   "without surge one voter fewer is enough",
			given:  healthy(3, surge(0), deleting(1, model.PhaseWaitingForPreDrain), excluded(1, time.Minute)),
			action: model.ReleasePreDrainHook{Machine: "cp-1"},
		},
		{
			name:  "without surge a second failure holds the drain",
			given: healthy(3, surge(0), silent(2), deleting(1, model.PhaseWaitingForPreDrain)),
			rule:  "replacement_before_drain", blames: "node-cp-2-0000000a",
		},
		{
			name:   "a scale down needs no replacement",
			given:  healthy(3, replicas(2), deleting(1, model.PhaseWaitingForPreDrain), excluded(1, time.Minute)),
			action: model.ReleasePreDrainHook{Machine: "cp-1"},
		},
		{
			name:   "an unhealthy member needs no replacement",
			given:  healthy(3, silent(1), deleting(1, model.PhaseWaitingForPreDrain), excluded(1, time.Minute)),
			action: model.ReleasePreDrainHook{Machine: "cp-1"},
		},
		{
			name: "while a leader is elected nobody seems to work: the drain is held",
			given: healthy(4, replicas(3), deleting(1, model.PhaseWaitingForPreDrain), excluded(1, time.Minute), func(s *model.Snapshot) {
				for i := range s.Etcd.Members.Value {
					s.Etcd.Members.Value[i].Leader, s.Etcd.Members.Value[i].Answers = false, model.Known(false, now)
				}
			}),
			rule: "replacement_before_drain", blames: "node-cp-2-0000000a",
		},
		{
			name:  "unknown members hold the drain",
			given: healthy(3, deleting(1, model.PhaseWaitingForPreDrain), membersUnknown),
			rule:  "replacement_before_drain", blames: "demo",
		},
		{
			name: "a Node that can't be read holds the drain",
			given: healthy(4, replicas(3), deleting(1, model.PhaseWaitingForPreDrain), machine(1, func(m *model.Machine) {
				m.Node = model.Unknown[model.Node]("connection refused", now)
			})),
			rule: "load_balancers_let_go_first", blames: "node-cp-1",
		},
		{
			name: "so does one that core has found and not told of",
			given: healthy(4, replicas(3), deleting(1, model.PhaseWaitingForPreDrain), machine(1, func(m *model.Machine) {
				m.NodeName, m.Node = "", model.Unknown[model.Node]("no Node is known for the Machine yet", now)
			})),
			rule: "load_balancers_let_go_first", blames: "cp-1",
		},
		{
			name: "a foreign pre-drain hook is named",
			given: healthy(4, replicas(3), deleting(1, model.PhaseWaitingForPreDrain), excluded(1, time.Minute), machine(1, func(m *model.Machine) {
				m.PreDrainHook, m.ForeignPreDrain = false, []model.Hook{{Name: "vip", Owner: "ops"}}
			})),
			rule: "drain_comes_before_member", blames: "cp-1",
		},
		{
			name:  "the second of two deleted Machines is held",
			given: healthy(5, replicas(3), deleting(1, model.PhaseDraining), deleting(2, model.PhaseWaitingForPreDrain)),
			rule:  "drain_comes_before_member", blames: "cp-1",
		},
		{
			name:   "two deletions by a user: one more server than surge allows is made in need",
			given:  healthy(4, replicas(3), deleting(1, model.PhaseWaitingForPreDrain), deleting(2, model.PhaseWaitingForPreDrain)),
			action: model.CreateMachine{Purpose: model.Rescue},
		},
		{
			name:   "but not without end: with no room left, a removal that keeps quorum makes room",
			given:  healthy(5, replicas(3), deleting(1, model.PhaseWaitingForPreDrain), deleting(2, model.PhaseWaitingForPreDrain), deleting(3, model.PhaseWaitingForPreDrain), excluded(1, time.Minute)),
			action: model.ReleasePreDrainHook{Machine: "cp-1"},
		},
		{
			name:  "and one that would not keep quorum waits for the deleted ones to go",
			given: healthy(5, replicas(3), silent(4), silent(5), deleting(1, model.PhaseWaitingForPreDrain), deleting(2, model.PhaseWaitingForPreDrain), deleting(3, model.PhaseWaitingForPreDrain)),
			rule:  "replacement_before_drain", blames: "node-cp-4-0000000a",
		},
		{
			name:  "a single server is replaced before it goes",
			given: healthy(1, deleting(1, model.PhaseWaitingForPreDrain)), action: model.CreateMachine{Purpose: model.Rescue},
		},
		{
			name:  "no replacement from an invalid spec",
			given: healthy(3, deleting(1, model.PhaseWaitingForPreDrain), func(s *model.Snapshot) { s.ControlPlane.Problems = []string{"version x"} }),
			rule:  "replacement_before_drain", blames: "cp",
		},
	})
}

func TestAfterTheDrain(t *testing.T) {
	asked := func(since time.Duration) change {
		return machine(2, func(m *model.Machine) { m.Node.Value.RemovalAsked, m.Node.Value.RemovalAskedAt = true, ago(since) })
	}
	remove := model.RemoveMember{Member: 2, Ground: model.Drained, Name: "node-cp-2-0000000a", Machine: "cp-2"}
	run(t, []tcase{
		{
			name: "a foreign hook is waited for and named",
			given: healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), machine(2, func(m *model.Machine) {
				m.ForeignPreTerminate = []model.Hook{{Name: "backup", Owner: "ops"}}
			})),
			rule: "foreign_hooks_come_first", blames: "cp-2",
		},
		{
			name:   "the leader moves, to an up-to-date voter that stays",
			given:  healthy(4, replicas(3), outdated(1, 2, 3), deleting(1, model.PhaseWaitingForPreTerm)),
			action: model.MoveLeader{From: 1, To: 4, FromName: "node-cp-1-0000000a", ToName: "node-cp-4-0000000a"},
			rule:   "leader_moves_first",
		},
		{
			name: "never to a learner, never to the sick",
			given: healthy(5, replicas(1), deleting(1, model.PhaseWaitingForPreTerm), silent(2),
				member(3, func(m *model.Member) { m.Learner = true })),
			action: model.MoveLeader{From: 1, To: 4, FromName: "node-cp-1-0000000a", ToName: "node-cp-4-0000000a"},
		},
		{
			name:  "no leader known: wait",
			given: healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), member(1, func(m *model.Member) { m.Leader = false })),
			rule:  "leader_moves_first",
		},
		{
			name:   "RKE2 is asked when losing the member costs nothing",
			given:  healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm)),
			action: model.AskForMemberRemoval{Machine: "cp-2", Member: 2}, rule: "member_is_removed_by_the_safe_path",
		},
		{
			name:  "RKE2 gets a minute",
			given: healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), asked(59*time.Second)),
			rule:  "member_is_removed_by_the_safe_path", blames: "node-cp-2",
		},
		{
			name:  "then another voter is called",
			given: healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), asked(time.Minute)), action: remove,
		},
		{
			name:  "a member that stopped without being removed gets five seconds",
			given: healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), silent(2), asked(4*time.Second)),
			rule:  "member_is_removed_by_the_safe_path", blames: "node-cp-2",
		},
		{
			name:   "and then goes through another voter",
			given:  healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), silent(2), asked(5*time.Second)),
			action: remove,
		},
		{
			name:  "2→1 never goes by annotation",
			given: healthy(2, replicas(1), deleting(2, model.PhaseWaitingForPreTerm)), action: remove,
		},
		{
			name:  "2→1 does not wait for an annotation of others",
			given: healthy(2, replicas(1), deleting(2, model.PhaseWaitingForPreTerm), asked(time.Second)), action: remove,
		},
		{
			name: "Node gone: another voter is called",
			given: healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), machine(2, func(m *model.Machine) {
				m.Node.Value = model.Node{}
			}), member(2, func(m *model.Member) { m.Answers = model.Known(true, now) })),
			action: remove,
		},
		{
			name: "Node without RKE2's annotations: another voter is called",
			given: healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), machine(2, func(m *model.Machine) {
				m.Node.Value.MemberAnnotated = false
			})),
			action: remove,
		},
		{
			name:   "a learner is removed at once",
			given:  healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), member(2, func(m *model.Member) { m.Learner = true })),
			action: remove,
		},
		{
			name:   "gone from the list: released",
			given:  healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), removed(2)),
			action: model.ReleasePreTerminateHook{Machine: "cp-2"}, rule: "etcd_confirms_removal",
		},
		{
			name:  "unknown list: not released",
			given: healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), membersUnknown),
			rule:  "etcd_confirms_removal", blames: "demo",
		},
		{
			name: "a first server that never answered is released without a list",
			given: healthy(1, deleting(1, model.PhaseWaitingForPreTerm), membersUnknown, func(s *model.Snapshot) {
				s.ControlPlane.Initialized, s.Machines[0].NodeName = false, ""
			}),
			action: model.ReleasePreTerminateHook{Machine: "cp-1"},
		},
		{
			name:  "the last voter stays and gets a successor",
			given: healthy(1, deleting(1, model.PhaseWaitingForPreTerm)), action: model.CreateMachine{Purpose: model.Rescue},
			rule: "last_voter_stays",
		},
		{
			name:  "another server died during the drain: its member is named",
			given: healthy(4, replicas(3), silent(3), silent(4), deleting(2, model.PhaseWaitingForPreTerm)),
			rule:  "quorum_survives_removal", blames: "node-cp-3-0000000a",
		},
		{
			name: "external datastore: released after the drain, no member asked for",
			given: healthy(4, replicas(3), deleting(2, model.PhaseWaitingForPreTerm), membersUnknown, func(s *model.Snapshot) {
				s.ControlPlane.ExternalDatastore = true
			}),
			action: model.ReleasePreTerminateHook{Machine: "cp-2"},
		},
		{
			name: "the next one waits until the released one is gone",
			given: healthy(5, replicas(3), deleting(1, model.PhaseDeletingInfra), deleting(2, model.PhaseWaitingForPreTerm), machine(1, func(m *model.Machine) {
				m.PreTerminateHook = false
			})),
			rule: "released_server_disappears", blames: "cp-1",
		},
	})
}
