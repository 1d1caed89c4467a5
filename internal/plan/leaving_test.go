package plan_test

import (
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
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

// A host that was deleted while it joins can become a voter between its release
// and its end.
func TestJoinerIsLetInFirst(t *testing.T) {
	joiner := func(n int, age time.Duration, changes ...change) model.Snapshot {
		s := healthy(n, append([]change{joining(n + 1)}, changes...)...)
		m := &s.Machines[n]
		m.InfrastructureReady, m.Created = true, ago(age)
		deleting(n+1, model.PhaseWaitingForPreTerm)(&s)
		return s
	}
	release := func(name string) model.Action { return model.ReleasePreTerminateHook{Machine: name} }
	run(t, []tcase{
		{name: "beside a single voter it is held", given: joiner(1, time.Minute), rule: "joiner_is_let_in_first", blames: "cp-2"},
		{name: "but not for ever", given: joiner(1, model.JoinTime), action: release("cp-2")},
		{name: "two voters could lose it again", given: joiner(2, time.Minute, replicas(2)), action: release("cp-3")},
		{name: "not if one of three can't be asked", given: joiner(3, time.Minute, silent(2)), rule: "joiner_is_let_in_first"},
		{
			name: "nor can one that is gone",
			given: joiner(1, time.Minute, machine(2, func(m *model.Machine) {
				m.InfrastructureGone = model.Known(true, now)
			})),
			action: release("cp-2"),
		},
		{name: "a host may run before anybody reports it", given: joiner(1, time.Minute, machine(2, unreported)), rule: "joiner_is_let_in_first", blames: "cp-2"},
		{name: "but not join for ever", given: joiner(1, model.JoinTime, machine(2, unreported)), action: release("cp-2")},
	})
}

func unreported(m *model.Machine) { m.InfrastructureReady, m.Addresses = false, nil }

// A host can join before its addresses are reported, by which its member would
// be known.
func TestStrangeMemberIsSettledFirst(t *testing.T) {
	deleted := func(age time.Duration, changes ...change) model.Snapshot {
		all := append([]change{joining(4), machine(4, func(m *model.Machine) { m.Created = ago(age) }), deleting(4, model.PhaseWaitingForPreTerm), stranger}, changes...)
		return healthy(3, all...)
	}
	release := model.ReleasePreTerminateHook{Machine: "cp-4"}
	const rule = "strange_member_is_settled_first"
	run(t, []tcase{
		{name: "it may be the Machine's own", given: deleted(time.Minute), rule: rule, blames: "stranger-0000000a"},
		{name: "the Machine can't be recognised, and says so", given: deleted(time.Minute), rule: rule, blames: "cp-4"},
		{name: "but not for ever", given: deleted(model.JoinTime), action: release},
		{name: "not when its addresses are known", given: deleted(time.Minute, machine(4, func(m *model.Machine) { m.Addresses = []string{"10.0.0.4"} })), action: release},
		{name: "not when its host is gone", given: deleted(time.Minute, machine(4, func(m *model.Machine) {
			m.InfrastructureGone = model.Known(true, now)
		})), action: release},
		{name: "not without such a member", given: healthy(3, joining(4), deleting(4, model.PhaseWaitingForPreTerm)), action: release},
		{name: "it is removed when it shows no sign of life", given: deleted(6*time.Minute, func(s *model.Snapshot) {
			s.Etcd.Members.Value[3].UnmatchedSince = ago(6 * time.Minute)
		}), action: model.RemoveMember{Member: 9, Ground: model.NoMachine, Name: "stranger-0000000a"}},
	})
}

// stranger is a voter of which no Machine is known, and which can't be asked.
func stranger(s *model.Snapshot) {
	s.Etcd.Members.Value = append(s.Etcd.Members.Value, model.Member{
		ID: 9, Name: "stranger-0000000a", UnmatchedSince: ago(10 * time.Second), NodeReady: model.No, Answers: model.Unknown[bool]("no Node", now),
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
