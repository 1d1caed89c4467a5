package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// Nodes and members are read side by side: what happens in between shows in one
// of them only.
func TestReplayFollowsWhatWasReadInPieces(t *testing.T) {
	all := record(t, Options{Servers: 3, Surge: 1}, 1)
	members := func(x observed) int { return len(x.snapshot.Etcd.Members.Value) }
	tried := 0
	for i := 1; i < len(all); i++ {
		before, after := all[i-1], all[i]
		if before.done || members(before) == members(after) {
			continue
		}
		tried++
		mixed := before
		mixed.snapshot.Etcd = after.snapshot.Etcd
		mixed.decision = plan.Decide(mixed.snapshot)
		if err := replay(slices.Concat(all[:i], []observed{mixed}, all[i:])); err != nil {
			t.Errorf("before observation %d: %v", i, err)
		}
	}
	if tried == 0 {
		t.Error("no member came or went")
	}
}

// A busy etcd elects now and then although nothing failed.
func TestReplayFollowsAnElection(t *testing.T) {
	all := record(t, Options{Servers: 3, Surge: 1}, 1)
	leaderless := all[0].snapshot
	leaderless.Etcd.Members.Value = slices.Clone(leaderless.Etcd.Members.Value)
	for i := range leaderless.Etcd.Members.Value {
		m := &leaderless.Etcd.Members.Value[i]
		m.Leader, m.Answers = false, model.Known(false, epoch)
	}
	between := observed{snapshot: leaderless, decision: plan.Decide(leaderless)}
	quiet := all[0]
	quiet.done = false
	if err := replay(append([]observed{quiet, between}, all...)); err != nil {
		t.Error(err)
	}
}

// RKE2's supervisor lists the members and tells neither who leads nor who works.
// The leader is not taken for dead because of that.
func TestReplayFollowsAListOfTheSupervisor(t *testing.T) {
	all := record(t, Options{Servers: 3, Surge: 1}, 1)
	first := all[0]
	first.done = false
	listed := first.snapshot
	listed.Etcd.Members.Value = slices.Clone(listed.Etcd.Members.Value)
	for i := range listed.Etcd.Members.Value {
		m := &listed.Etcd.Members.Value[i]
		m.Leader, m.Answers = false, model.Unknown[bool]("there is no way to it", epoch)
	}
	r := NewReplay(budget(Death), nil)
	for _, x := range []observed{first, {snapshot: listed, decision: plan.Decide(listed)}} {
		if err := r.Next(x.snapshot, x.decision, x.done, !x.done); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.ContainsFunc(r.worlds, func(w World) bool { return w.leader() >= 0 && w.Left[Death] == 1 }) {
		t.Errorf("somebody is taken for dead, or nobody for the leader, in all of %d Worlds", len(r.worlds))
	}
}

// Core deletes a Node some time before its Machine is gone.
func TestReplayFollowsANodeThatGoesBeforeItsMachine(t *testing.T) {
	all := record(t, Options{Servers: 3, Surge: 1}, 1)
	for i, o := range all {
		m := slices.IndexFunc(o.snapshot.Machines, func(m model.Machine) bool { return m.Phase == model.PhaseDeletingNode })
		if m < 0 {
			continue
		}
		gone := o
		gone.snapshot.Machines = slices.Clone(o.snapshot.Machines)
		gone.snapshot.Machines[m].Node = model.Known(model.Node{}, epoch)
		gone.decision = plan.Decide(gone.snapshot)
		if err := replay(slices.Insert(slices.Clone(all), i+1, gone, gone)); err != nil {
			t.Error(err)
		}
		return
	}
	t.Fatal("nobody left")
}

// Core stops at the first hook of a Machine whose Node it has just found, and
// writes down the Node a moment later.
func TestReplayFollowsANodeThatIsToldOfLater(t *testing.T) {
	s := NewStage(Options{Servers: 3, Surge: 1, Budget: budget(UserDelete)})
	all := []observed{observe(t, s)}
	for _, happens := range []string{
		"the host of cp-4 comes up", "a user deletes Machine cp-4", "cp-4 becomes a learner", "the member of cp-4 starts",
		"the member of cp-4 becomes a voter", "core finds Node cp-4 and comes to the pre-drain hook",
	} {
		if err := s.Happens(happens); err != nil {
			t.Fatal(err)
		}
		all = append(all, observe(t, s))
	}
	last := all[len(all)-1]
	if m, _ := last.snapshot.MachineByName("cp-4"); m.Phase != model.PhaseWaitingForPreDrain || m.NodeName != "" || last.decision.Rule != "load_balancers_let_go_first" {
		t.Errorf("%s at %q: %s", m.Phase, m.NodeName, last.decision.Rule)
	}
	if err := replayWith(budget(UserDelete), all); err != nil {
		t.Error(err)
	}

	// The Node is found by the Machine's spec, which core writes before the
	// status says that there is a host.
	if err := s.Happens("core tells of Node cp-4"); err != nil {
		t.Fatal(err)
	}
	half := observe(t, s)
	half.snapshot = unreported(half.snapshot, "cp-4")
	for i := range half.snapshot.Etcd.Members.Value {
		if m := &half.snapshot.Etcd.Members.Value[i]; m.Machine == "" {
			m.Machine, m.UnmatchedSince = "cp-4", time.Time{}
		}
	}
	if err := replayWith(budget(UserDelete), append(all, half)); err != nil {
		t.Error(err)
	}
}
