package sim

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// observed is one observation of a story.
type observed struct {
	snapshot model.Snapshot
	decision model.Decision
	done     bool
}

// observe lets the controller look once, decide and act.
func observe(t *testing.T, s *Stage) observed {
	t.Helper()
	v, n := s.view()
	snapshot := v.Snapshot(&n)
	d, done, err := s.Drover()
	if err != nil {
		t.Fatal(err)
	}
	return observed{snapshot, d, done}
}

// record plays on a Stage until all is as wished, and observes it every few
// steps, as the product does. What users do comes first.
func record(t *testing.T, o Options, every int, users ...Kind) []observed {
	t.Helper()
	s := NewStage(o)
	for _, kind := range users {
		if err := s.Apply(Step{Kind: kind, Server: -1}); err != nil {
			t.Fatal(err)
		}
	}
	var out []observed
	for range 400 {
		now := observe(t, s)
		out = append(out, now)
		if d := now.decision; s.Reached() && (d.Settled() || d.Action != nil && read(d.Action).Verb == Finish) {
			return out
		}
		for range every {
			steps, _ := s.Steps()
			for _, st := range steps {
				if st.Progress() {
					if err := s.Apply(st); err != nil {
						t.Fatal(err)
					}
					break
				}
			}
		}
	}
	t.Fatal("it does not end")
	return nil
}

func replay(all []observed) error { return replayWith(Budget{}, all) }

func replayWith(may Budget, all []observed) error {
	r := NewReplay(may, nil)
	for _, x := range all {
		if err := r.Next(x.snapshot, x.decision, x.done, !x.done); err != nil {
			return err
		}
	}
	return nil
}

func TestReplayFollowsAnUpgrade(t *testing.T) {
	for _, o := range []Options{{Servers: 1, Surge: 1}, {Servers: 3, Surge: 1}, {Servers: 3, Surge: 0}, {Servers: 3, Surge: 1, Empty: true}} {
		for every := 1; every <= 3; every++ {
			if err := replay(record(t, o, every)); err != nil {
				t.Errorf("%d servers, maxSurge %d, every %d steps: %v", o.Servers, o.Surge, every, err)
			}
		}
	}
}

// Machines of a control plane that is deleted go several at a time, their
// members with them, and soon nothing can be asked any more.
func TestReplayFollowsADeletion(t *testing.T) {
	o := Options{Servers: 3, Surge: 1, AtRest: true}
	o.Budget[WholeDelete] = 1
	for every := 1; every <= 12; every += 4 {
		if err := replayWith(o.Budget, record(t, o, every, UserDeletesAll)); err != nil {
			t.Errorf("every %d steps: %v", every, err)
		}
	}
}

// A Machine of another provider lacks our hooks. The planner puts them back on
// one after the other, and upkeep brings them to all.
func TestReplayFollowsUpkeep(t *testing.T) {
	all := record(t, Options{Servers: 3, Surge: 1}, 1)
	foreign := all[0].snapshot
	foreign.Machines = slices.Clone(foreign.Machines)
	for i := range foreign.Machines {
		foreign.Machines[i].PreDrainHook = false
	}
	first := observed{snapshot: foreign, decision: plan.Decide(foreign), done: true}
	if err := replay(append([]observed{first}, all...)); err != nil {
		t.Error(err)
	}
}

// A manager that starts beside a running control plane sees the Machines first
// and their members later; nothing of that has happened.
func TestReplayBeginsWithWhatCanBeSeen(t *testing.T) {
	all := record(t, Options{Servers: 3, Surge: 1}, 1)
	blind := all[0].snapshot
	blind.Machines = slices.Clone(blind.Machines)
	for i := range blind.Machines {
		blind.Machines[i].Node = model.Unknown[model.Node]("no connection yet", epoch)
	}
	blind.Etcd.Members = model.Unknown[[]model.Member]("no connection yet", epoch)
	first := observed{snapshot: blind, decision: plan.Decide(blind)}
	if err := replay(append([]observed{first}, all...)); err != nil {
		t.Error(err)
	}
}

// What happened before the etcd of a cluster of the legacy kind was opened is
// passed over. If it is hidden again later, the trace can't be followed.
func TestReplayBeginsWhenEtcdIsOpened(t *testing.T) {
	all := record(t, Options{Servers: 3, Surge: 1}, 1)
	hidden := all[0].snapshot
	hidden.ControlPlane.ExternalDatastore, hidden.ControlPlane.HiddenEtcd = true, true
	hidden.Etcd.Members = model.Unknown[[]model.Member]("nobody has etcd's certificate authorities yet", epoch)
	closed := observed{snapshot: hidden, decision: plan.Decide(hidden)}
	if err := replay(append([]observed{closed, closed}, all...)); err != nil {
		t.Error(err)
	}
	if err := replay([]observed{all[0], closed}); !errors.Is(err, ErrNotModelled) {
		t.Errorf("got %v", err)
	}
}

// Core finds the first Node before the controller has reached the API server.
func TestReplayFollowsANodeThatCoreFoundFirst(t *testing.T) {
	s := NewStage(Options{Servers: 1, Surge: 1, Empty: true})
	if err := s.Run("Node cp-1 registers", 20, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if w := s.World; w.Initialized || !w.Servers[0].has(NodeRef) {
		t.Errorf("initialized %t, server %s", w.Initialized, w.Servers[0])
	}
}

// A host may join before core has told the Machine's addresses, by which its
// learner would be known. Whose it is follows while there is one such Machine,
// and what does not follow is a gap.
func TestReplayFollowsAServerThatJoinsEarly(t *testing.T) {
	early := func(others int) []observed {
		all := record(t, Options{Servers: 3, Surge: 1}, 1)
		at := slices.IndexFunc(all, func(x observed) bool {
			return slices.ContainsFunc(x.snapshot.Etcd.Members.Value, func(m model.Member) bool { return !m.Started() })
		})
		members := all[at].snapshot.Etcd.Members.Value
		joiner := members[slices.IndexFunc(members, func(m model.Member) bool { return !m.Started() })].Machine
		for i := range all[:at+1] {
			all[i].snapshot = unreported(all[i].snapshot, joiner)
		}
		s := &all[at].snapshot
		for i := range others {
			m, _ := s.MachineByName(joiner)
			m.Name = []string{"x", "y"}[i]
			s.Machines = append(s.Machines, m)
		}
		all[at].decision, all[at].done = plan.Decide(*s), false
		return all
	}
	if err := replayWith(budget(EarlyStart), early(0)); err != nil {
		t.Error(err)
	}
	if err := replayWith(budget(EarlyStart), early(1)); !IsGap(err) {
		t.Errorf("two Machines that it may be of: %v", err)
	}
}

// unreported is what is seen while the infrastructure has not reported a host.
func unreported(s model.Snapshot, machine string) model.Snapshot {
	s.Machines, s.Etcd.Members.Value = slices.Clone(s.Machines), slices.Clone(s.Etcd.Members.Value)
	for i := range s.Machines {
		if m := &s.Machines[i]; m.Name == machine {
			m.InfrastructureReady, m.Addresses = false, nil
		}
	}
	for i := range s.Etcd.Members.Value {
		if m := &s.Etcd.Members.Value[i]; m.Machine == machine {
			m.Machine, m.UnmatchedSince = "", s.Now
		}
	}
	return s
}

// An infrastructure machine that is gone can't be compared with its template any
// more: its server, on its way out, does not look outdated then.
func TestReplayDoesNotAskWhetherADeletedServerIsOutdated(t *testing.T) {
	all := record(t, Options{Servers: 3, Surge: 1}, 1)
	changed := 0
	for i := range all {
		s := &all[i].snapshot
		s.Machines = slices.Clone(s.Machines)
		for k := range s.Machines {
			if m := &s.Machines[k]; m.Phase == model.PhaseDeletingNode {
				m.Outdated = nil
				changed++
			}
		}
	}
	if err := replay(all); err != nil || changed == 0 {
		t.Errorf("%d changed: %v", changed, err)
	}
}

// What can't have happened is a gap between model and reality, and is named.
func TestReplayFindsWhatTheModelCanNotDo(t *testing.T) {
	all := record(t, Options{Servers: 3, Surge: 1}, 1)
	for name, tc := range map[string]struct {
		change func(s *model.Snapshot)
		want   string
	}{
		"a member vanishes from a server that is drained": {func(s *model.Snapshot) {
			for _, m := range s.Machines {
				if m.Phase == model.PhaseDraining {
					s.Etcd.Members.Value = withoutMemberOf(s.Etcd.Members.Value, m.Name)
				}
			}
		}, "the model can't get from"},
		"a Machine appears that nobody made": {func(s *model.Snapshot) {
			extra := s.Machines[0]
			extra.Name, extra.UID = "cp-99", "cp-99"
			s.Machines = append(s.Machines, extra)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReplay(Budget{}, nil)
			for _, x := range all {
				tc.change(&x.snapshot)
				x.decision = r.decide(x.snapshot)
				if err := r.Next(x.snapshot, x.decision, x.done && x.decision.Action != nil, true); err != nil {
					if !IsGap(err) || !strings.Contains(err.Error(), tc.want) {
						t.Fatalf("%v, want %q", err, tc.want)
					}
					return
				}
			}
			t.Fatal("nobody noticed")
		})
	}
}

func withoutMemberOf(members []model.Member, machine string) []model.Member {
	var rest []model.Member
	for _, m := range members {
		if m.Machine != machine {
			rest = append(rest, m)
		}
	}
	return rest
}

// Another planner than the one that decided is noticed.
func TestReplayNamesAnotherPlanner(t *testing.T) {
	r := NewReplay(Budget{}, without("outdated_server_is_replaced"))
	x := record(t, Options{Servers: 3, Surge: 1}, 1)[0]
	if err := r.Next(x.snapshot, x.decision, true, false); !IsGap(err) || !strings.Contains(err.Error(), "would decide otherwise today") {
		t.Errorf("error %v", err)
	}
}
