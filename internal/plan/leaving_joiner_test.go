package plan_test

import (
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
)

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
		{
			name: "not while RKE2 removes another member, which would be lost, too",
			given: joiner(3, time.Minute, machine(2, func(m *model.Machine) {
				m.Node.Value.RemovalAsked, m.Node.Value.RemovalAskedAt = true, ago(time.Second)
			})),
			rule: "joiner_is_let_in_first", blames: "node-cp-2",
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
