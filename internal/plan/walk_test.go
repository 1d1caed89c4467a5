package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
	"github.com/drover-project/drover/internal/quorum"
)

// world is a small imitation of CAPI core, RKE2 and etcd around the planner.
// Its random walks find rules that contradict each other; the exhaustive
// explorer is a package of its own.
type world struct {
	model.Snapshot
	next    int
	drained map[string]bool
	story   []string
}

func newWorld(s model.Snapshot) *world {
	return &world{Snapshot: s, next: len(s.Machines) + 1, drained: map[string]bool{}}
}

func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

func (w *world) index(name string) int {
	for i, m := range w.Machines {
		if m.Name == name {
			return i
		}
	}
	return -1
}

func (w *world) member(name string) *model.Member {
	for i := range w.Etcd.Members.Value {
		if w.Etcd.Members.Value[i].Machine == name {
			return &w.Etcd.Members.Value[i]
		}
	}
	return nil
}

func (w *world) dropMember(id uint64) {
	removed(id)(&w.Snapshot)
	w.elect()
}

// elect gives the cluster a leader when it has none and can agree on one.
func (w *world) elect() {
	ms := w.Etcd.Members.Value
	for i := range ms {
		if ms[i].Leader && ms[i].HealthyVoter() {
			return
		}
		ms[i].Leader = false
	}
	if !quorum.Has(ms).OK {
		return
	}
	for i := range ms {
		if ms[i].HealthyVoter() {
			ms[i].Leader = true
			return
		}
	}
}

// decide lets the planner act once and checks what it does.
func (w *world) decide(t *rapid.T) model.Decision {
	d := plan.Decide(w.Snapshot)
	for _, wt := range d.Waits {
		if wt.Rule == "" || len(wt.Blockers) == 0 {
			t.Fatalf("wait without rule or blocker: %+v", wt)
		}
	}
	if d.Action != nil {
		w.tell("%s: %s", d.Rule, d.Action.Describe())
		w.apply(t, d.Action)
	}
	return d
}

func (w *world) apply(t *rapid.T, a model.Action) {
	switch a := a.(type) {
	case model.CreateMachine:
		joining(w.next)(&w.Snapshot)
		w.Machines[len(w.Machines)-1].Created = w.Now
		w.next++
		if limit := w.ControlPlane.Replicas + w.ControlPlane.MaxSurge + 1; len(w.Machines) > limit {
			t.Fatalf("I9: %d Machines, at most %d allowed", len(w.Machines), limit)
		}
	case model.DeleteMachine:
		w.markDeleted(w.index(a.Machine))
	case model.ExcludeFromLoadBalancers:
		m := &w.Machines[w.index(a.Machine)]
		m.Node.Value.Excluded, m.Node.Value.ExcludedAt = true, w.Now
	case model.ReleasePreDrainHook:
		w.releaseDrain(t, a.Machine)
	case model.MoveLeader:
		for i := range w.Etcd.Members.Value {
			m := &w.Etcd.Members.Value[i]
			if m.Leader = m.ID == a.To; m.Leader && !m.HealthyVoter() {
				t.Fatalf("I5: leadership to %s, which is no healthy voter", m.Label())
			}
		}
	case model.AskForMemberRemoval:
		m := &w.Machines[w.index(a.Machine)]
		if !quorum.AfterLoss(w.Etcd.Members.Value, a.Member).OK {
			t.Fatalf("I2: RKE2 asked to stop %s, whose loss costs quorum", a.Machine)
		}
		w.checkRemoval(t, a.Machine, a.Member)
		m.Node.Value.RemovalAsked, m.Node.Value.RemovalAskedAt = true, w.Now
	case model.RemoveMember:
		w.checkRemoval(t, a.Machine, a.Member)
		w.dropMember(a.Member)
	case model.ReleasePreTerminateHook:
		if w.member(a.Machine) != nil {
			t.Fatalf("host of %s released with its member listed", a.Machine)
		}
		i := w.index(a.Machine)
		w.Machines[i].PreTerminateHook, w.Machines[i].PreDrainHook = false, false
	case model.RestoreHooks:
		i := w.index(a.Machine)
		w.Machines[i].PreTerminateHook = true
		w.Machines[i].PreDrainHook = w.Machines[i].PreDrainHook || !a.PreTerminateOnly
	default:
		t.Fatalf("unexpected action %#v", a)
	}
}

func (w *world) markDeleted(i int) {
	m := &w.Machines[i]
	m.Deleting, m.DeletingSince, m.PhaseSince = true, w.Now, w.Now
}

func (w *world) releaseDrain(t *rapid.T, name string) {
	w.Machines[w.index(name)].PreDrainHook = false
	for _, m := range w.Machines {
		if m.Name != name && m.Deleting && !m.PreDrainHook && m.NodeName != "" && w.alive(m) {
			t.Fatalf("I4: %s is released while %s is on its way", name, m.Name)
		}
	}
}

func (w *world) alive(m model.Machine) bool { return m.Node.Value.Ready == model.Yes }

// checkRemoval holds a removal to I1 and I2.
func (w *world) checkRemoval(t *rapid.T, machine string, id uint64) {
	if v := quorum.AfterRemoval(w.Etcd.Members.Value, id); !v.OK {
		t.Fatalf("I2: removal of %x: %s", id, v.Why)
	}
	if i := w.index(machine); i >= 0 && w.alive(w.Machines[i]) && !w.drained[machine] {
		t.Fatalf("I1: member of %s removed before its drain", machine)
	}
}

// moves are what the world may do next, by name.
func (w *world) moves() map[string]func() {
	out := map[string]func(){}
	for i := range w.Machines {
		m := &w.Machines[i]
		if m.Deleting {
			w.deletionMoves(out, m)
			continue
		}
		w.joinMoves(out, m)
	}
	for i := range w.Machines {
		m := &w.Machines[i]
		if member := w.member(m.Name); m.Node.Value.RemovalAsked && member != nil && quorum.Has(w.Etcd.Members.Value).OK {
			id := member.ID
			out["RKE2 removes the member of "+m.Name] = func() { w.dropMember(id) }
		}
	}
	return out
}

func (w *world) joinMoves(out map[string]func(), m *model.Machine) {
	member := w.member(m.Name)
	switch {
	case !m.InfrastructureReady:
		out[m.Name+" is provisioned"] = func() { m.InfrastructureReady = true }
	case member == nil && quorum.Join(w.Etcd.Members.Value).OK && quorum.Has(w.Etcd.Members.Value).OK:
		out[m.Name+" becomes a learner"] = func() {
			w.Etcd.Members.Value = append(w.Etcd.Members.Value, model.Member{
				ID: uint64(w.next*100 + len(w.story)), Name: "node-" + m.Name + "-0000000a", Machine: m.Name, Learner: true, Answers: model.Known(true, w.Now),
			})
		}
	case member != nil && member.Learner:
		out[m.Name+" is promoted"] = func() { member.Learner = false }
	case member != nil && m.NodeName == "":
		out[m.Name+" registers its Node"] = func() {
			m.NodeName = "node-" + m.Name
			m.Node = model.Known(model.Node{Exists: true, Ready: model.Yes, ReadySince: w.Now, MemberAnnotated: true}, w.Now)
		}
	}
}

func (w *world) deletionMoves(out map[string]func(), m *model.Machine) {
	to := func(p model.Phase) func() {
		return func() { m.Phase, m.PhaseSince = p, w.Now }
	}
	hasNode := m.NodeName != ""
	switch {
	case m.Phase.PastHooks():
		out[m.Name+" is gone"] = func() { w.destroy(m.Name) }
	case m.PreDrainHook && hasNode && m.Phase == model.PhaseNone:
		out["core waits for the pre-drain hook of "+m.Name] = to(model.PhaseWaitingForPreDrain)
	case m.PreDrainHook && hasNode:
	case hasNode && !w.drained[m.Name]:
		// Only a kubelet with a living member can end its pods; core passes
		// over Nodes that are unreachable.
		if w.member(m.Name) != nil || !w.alive(*m) {
			out["core drains "+m.Name] = func() {
				w.drained[m.Name] = true
				to(model.PhaseDraining)()
			}
		}
	case m.PreTerminateHook && m.Phase != model.PhaseWaitingForPreTerm:
		out["core waits for the pre-terminate hook of "+m.Name] = to(model.PhaseWaitingForPreTerm)
	case !m.PreTerminateHook:
		out["core destroys the host of "+m.Name] = to(model.PhaseDeletingInfra)
	}
}

func (w *world) destroy(name string) {
	i := w.index(name)
	w.Machines = append(w.Machines[:i:i], w.Machines[i+1:]...)
	if m := w.member(name); m != nil {
		m.Machine, m.UnmatchedSince, m.NodeReady, m.Answers = "", w.Now, model.No, model.Known(false, w.Now)
		w.elect()
	}
}

// kill makes a host dead for good.
func (w *world) kill(name string) {
	i := w.index(name)
	w.Machines[i].Node.Value.Ready, w.Machines[i].Node.Value.ReadySince = model.Unclear, w.Now
	if m := w.member(name); m != nil {
		m.Answers = model.Known(false, w.Now)
	}
	w.elect()
}

// walk lets world and planner take turns in random order until nothing is left
// to do.
func (w *world) walk(t *rapid.T) {
	for step := range 600 {
		if step%2 == 0 {
			if d := w.decide(t); d.Settled() {
				return
			}
		}
		names := sortedKeys(w.moves())
		if len(names) > 0 && rapid.Bool().Draw(t, "world moves") {
			name := rapid.SampledFrom(names).Draw(t, "move")
			w.tell("  %s", name)
			w.moves()[name]()
		}
		w.Now = w.Now.Add(10 * time.Second)
	}
	t.Fatalf("I3: the goal was not reached; last decision %+v\n%v", plan.Decide(w.Snapshot), w.story)
}

func TestWalkUpgrades(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "servers")
		surge := 1
		if n >= 3 {
			surge = rapid.IntRange(0, 1).Draw(t, "surge")
		}
		w := newWorld(healthy(n, func(s *model.Snapshot) { s.ControlPlane.MaxSurge = surge }))
		for i := range w.Machines {
			w.Machines[i].Outdated = []string{"version"}
		}
		w.walk(t)
		if got := len(quorum.HealthyVoters(w.Etcd.Members.Value)); got != n || len(w.Machines) != n || len(w.Etcd.Members.Value) != n {
			t.Fatalf("%d voters, %d members and %d Machines, want %d", got, len(w.Etcd.Members.Value), len(w.Machines), n)
		}
	})
}

func TestWalkScaling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.IntRange(1, 5).Draw(t, "from"), rapid.IntRange(1, 5).Draw(t, "to")
		w := newWorld(healthy(from, replicas(to)))
		w.walk(t)
		if len(w.Machines) != to || len(w.Etcd.Members.Value) != to {
			t.Fatalf("%d Machines and %d members, want %d", len(w.Machines), len(w.Etcd.Members.Value), to)
		}
	})
}

// A user deletes Machines as he likes, and one host dies whose Machine is then
// deleted too. As long as quorum is there, everything is whole in the end.
func TestWalkDeletionsAndADeath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{3, 5}).Draw(t, "servers")
		w := newWorld(healthy(n, surge(rapid.IntRange(0, 1).Draw(t, "surge"))))
		deletions := rapid.IntRange(0, n-1).Draw(t, "deletions")
		for i := range deletions {
			w.markDeleted(i)
		}
		for range rapid.IntRange(0, 30).Draw(t, "steps before the death") {
			w.decide(t)
			if names := sortedKeys(w.moves()); len(names) > 0 {
				name := rapid.SampledFrom(names).Draw(t, "early move")
				w.tell("  %s", name)
				w.moves()[name]()
			}
			w.Now = w.Now.Add(10 * time.Second)
		}
		w.someHostDies(t)
		if !quorum.Has(w.Etcd.Members.Value).OK {
			return // the death itself cost the quorum: nobody can help
		}
		w.walk(t)
		if len(w.Machines) != n || len(quorum.HealthyVoters(w.Etcd.Members.Value)) != n {
			t.Fatalf("%d Machines, members %+v, want %d", len(w.Machines), w.Etcd.Members.Value, n)
		}
	})
}

// someHostDies kills a joined server and deletes its Machine, as an operator
// or a health check would.
func (w *world) someHostDies(t *rapid.T) {
	var names []string
	for _, m := range w.Machines {
		if m.NodeName != "" && w.member(m.Name) != nil && !w.member(m.Name).Learner {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	name := rapid.SampledFrom(names).Draw(t, "dies")
	w.tell("  the host of %s dies and its Machine is deleted", name)
	w.kill(name)
	if i := w.index(name); !w.Machines[i].Deleting {
		w.markDeleted(i)
	}
}

func sortedKeys(m map[string]func()) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
