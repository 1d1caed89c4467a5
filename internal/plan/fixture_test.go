package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// change alters a snapshot; tests are made of a healthy control plane and the
// changes that matter.
type change func(*model.Snapshot)

// healthy is a settled control plane with n servers cp-1 … cp-n, all up to
// date, all voters, cp-1 leading.
func healthy(n int, changes ...change) model.Snapshot {
	s := model.Snapshot{
		Now: now,
		ControlPlane: model.ControlPlane{
			Namespace: "demo", Name: "cp", Replicas: n, MaxSurge: 1, Version: "v1.36.3+rke2r2", Initialized: true,
			ExcludeFromLoadBalancers: true, LoadBalancerSettle: 10 * time.Second,
		},
		Cluster: model.Cluster{
			Name: "demo", InfrastructureReady: true, Endpoint: "10.0.0.1:6443", TemplateName: "LabMachineTemplate demo/cp",
			Template: model.Known(true, now), Certificates: model.Known(true, now), Registration: model.Known(true, now),
			RegistrationAddress: "10.0.0.1:9345",
		},
		Etcd: model.Etcd{Members: model.Known([]model.Member{}, now)},
	}
	for i := 1; i <= n; i++ {
		addServer(&s, i)
	}
	if n > 0 {
		s.Etcd.Members.Value[0].Leader = true
	}
	for _, c := range changes {
		c(&s)
	}
	return s
}

func addServer(s *model.Snapshot, i int) {
	name := fmt.Sprintf("cp-%d", i)
	s.Machines = append(s.Machines, model.Machine{
		Name: name, Created: ago(time.Duration(100-i) * time.Hour), PreDrainHook: true, PreTerminateHook: true,
		InfrastructureReady: true, InfrastructureGone: model.Known(false, now), NodeName: "node-" + name,
		Node: model.Known(model.Node{Exists: true, Ready: model.Yes, ReadySince: ago(time.Hour), MemberAnnotated: true}, now),
	})
	s.Etcd.Members.Value = append(s.Etcd.Members.Value, model.Member{
		ID: uint64(i), Name: "node-" + name + "-0000000a", Machine: name, Answers: model.Known(true, now), NodeReady: model.Yes,
	})
}

// machine alters one Machine.
func machine(i int, f func(*model.Machine)) change {
	return func(s *model.Snapshot) { f(&s.Machines[i-1]) }
}

// member alters one etcd member.
func member(i int, f func(*model.Member)) change {
	return func(s *model.Snapshot) { f(&s.Etcd.Members.Value[i-1]) }
}

// deleting marks a Machine as being deleted in a phase; from the drain on our
// pre-drain hook is released.
func deleting(i int, p model.Phase) change {
	return machine(i, func(m *model.Machine) {
		m.Deleting, m.DeletingSince, m.Phase, m.PhaseSince = true, ago(time.Minute), p, ago(time.Second)
		switch p {
		case model.PhaseDraining, model.PhaseWaitingForVolumes, model.PhaseWaitingForPreTerm:
			m.PreDrainHook = false
		}
	})
}

func outdated(is ...int) change {
	return func(s *model.Snapshot) {
		for _, i := range is {
			s.Machines[i-1].Outdated = []string{"version v1.36.3+rke2r1, wanted v1.36.3+rke2r2"}
		}
	}
}

func replicas(n int) change { return func(s *model.Snapshot) { s.ControlPlane.Replicas = n } }
func surge(n int) change    { return func(s *model.Snapshot) { s.ControlPlane.MaxSurge = n } }

// dead makes a server's etcd and Node silent for a long time.
func dead(i int) change {
	return func(s *model.Snapshot) {
		s.Etcd.Members.Value[i-1].Answers = model.Known(false, now)
		s.Etcd.Members.Value[i-1].NodeReady = model.No
		s.Machines[i-1].Node.Value.Ready = model.Unclear
		s.Machines[i-1].Node.Value.ReadySince = ago(5 * time.Minute)
	}
}

// silent makes only the etcd member unreachable; its Node is fine.
func silent(i int) change {
	return member(i, func(m *model.Member) { m.Answers = model.Unknown[bool]("no answer", now) })
}

func removed(id uint64) change {
	return func(s *model.Snapshot) {
		var rest []model.Member
		for _, m := range s.Etcd.Members.Value {
			if m.ID != id {
				rest = append(rest, m)
			}
		}
		s.Etcd.Members.Value = rest
	}
}

func membersUnknown(s *model.Snapshot) {
	s.Etcd.Members = model.Unknown[[]model.Member]("no voter answered", now)
}

func excluded(i int, since time.Duration) change {
	return machine(i, func(m *model.Machine) { m.Node.Value.Excluded, m.Node.Value.ExcludedAt = true, ago(since) })
}

// joining adds a server that has not joined yet.
func joining(i int) change {
	return func(s *model.Snapshot) {
		s.Machines = append(s.Machines, model.Machine{
			Name: fmt.Sprintf("cp-%d", i), Created: ago(time.Minute), PreDrainHook: true, PreTerminateHook: true,
			InfrastructureGone: model.Known(false, now), NodeAbsent: true,
		})
	}
}

// tcase is one row of a rule's table: a snapshot and the decision it must
// give, either an action or a rule that waits.
type tcase struct {
	name   string
	given  model.Snapshot
	action model.Action // nil when it must wait
	rule   string       // the rule that must decide; checked when not empty
	blames string       // name of a blocker that must be among the waits
}

func run(t *testing.T, cases []tcase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			d := plan.Decide(tc.given)
			if d.Action != tc.action {
				t.Errorf("action = %#v, want %#v (rule %s, waits %+v)", d.Action, tc.action, d.Rule, d.Waits)
			}
			if tc.rule != "" && d.Rule != tc.rule {
				t.Errorf("rule = %s, want %s (%+v)", d.Rule, tc.rule, d.Waits)
			}
			if tc.action == nil && tc.rule != plan.Settled && len(d.Waits) == 0 {
				t.Errorf("neither action nor wait")
			}
			checkWaits(t, d)
			if tc.blames != "" && !blames(d, tc.blames) {
				t.Errorf("no wait blames %q: %+v", tc.blames, d.Waits)
			}
			if again := plan.Decide(tc.given); fmt.Sprint(again) != fmt.Sprint(d) {
				t.Errorf("second decision differs: %+v", again)
			}
		})
	}
}

// checkWaits holds every wait to invariant I10: it names rule, message and
// blocker.
func checkWaits(t *testing.T, d model.Decision) {
	t.Helper()
	for _, w := range d.Waits {
		if w.Rule == "" || w.Message == "" || len(w.Blockers) == 0 {
			t.Errorf("incomplete wait: %+v", w)
		}
		for _, b := range w.Blockers {
			if b.Kind == "" || b.Name == "" || b.Unblock == "" {
				t.Errorf("incomplete blocker %+v of %q", b, w.Message)
			}
		}
	}
}

func blames(d model.Decision, name string) bool {
	for _, w := range d.Waits {
		for _, b := range w.Blockers {
			if b.Name == name {
				return true
			}
		}
	}
	return false
}
