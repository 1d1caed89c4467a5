package sim

import "testing"

// TestReductionLosesNothing walks runs with and without the reduction. Each
// state that is reached without it must have one that stands for it, with as
// much left of the Budget.
func TestReductionLosesNothing(t *testing.T) {
	with := func(servers, surge int, faults ...Fault) Options {
		return Options{Servers: servers, Surge: surge, Budget: budget(faults...), Stale: true, Restarts: true}
	}
	for name, o := range map[string]Options{
		"one server":                       with(1, 1, Death, UserDelete),
		"two servers":                      with(2, 1, UserDelete),
		"one server, two user deletes":     with(1, 1, UserDelete, UserDelete),
		"three servers, no surge":          with(3, 0, Death),
		"three servers":                    with(3, 1, UserDelete),
		"a hook of somebody else":          with(1, 1, Foreign, UserDelete),
		"hooks are stripped":               with(2, 1, HookLoss),
		"a host freezes":                   with(3, 1, Freeze),
		"etcd breaks":                      with(3, 0, Corruption),
		"a kubelet dies":                   with(3, 1, KubeletDeath),
		"a Node is deleted":                with(3, 0, NodeDelete),
		"a host disappears":                with(2, 1, InfraLoss),
		"a host starts early":              with(1, 1, EarlyStart, UserDelete),
		"a host starts early beside two":   with(2, 1, EarlyStart),
		"an external datastore":            outside(with(1, 1, Death, UserDelete)),
		"RKE2 falls silent":                with(2, 1, Silence, UserDelete),
		"one server fewer":                 with(3, 1, ScaleDown),
		"everything is deleted":            with(2, 1, WholeDelete),
		"from nothing":                     {Servers: 2, Surge: 1, Empty: true, Stale: true, Restarts: true, Budget: budget(UserDelete)},
		"sources can't be read, one fails": {Servers: 1, Surge: 1, Budget: budget(Death), Blackouts: true},
	} {
		t.Run(name, func(t *testing.T) { mustStandForAll(t, o) })
	}
}

func mustStandForAll(t *testing.T, o Options) {
	t.Helper()
	reduced := walked(t, o)
	o.Whole = true
	whole := walked(t, o)
	for i, s := range whole.shards {
		for n := range s.n {
			if w := whole.unpack(s.record(n)); !reduced.hasStandIn(w) {
				t.Fatalf("nothing stands for the end of this story:\n%s", whole.story(finding{state: whole.id(i, n), move: -1}))
			}
		}
	}
	t.Logf("%d states stand for %d", reduced.states(), whole.states())
}

// walked is an exploration that found nothing wrong on its way.
func walked(t *testing.T, o Options) *exploration {
	t.Helper()
	e := newExploration(o)
	for _, w := range o.begin() {
		e.root(w)
	}
	if err := e.walk(); err != nil {
		t.Fatal(err)
	}
	if e.found != nil {
		t.Fatalf("whole %v\n%s", o.Whole, e.story(*e.found))
	}
	return e
}

// hasStandIn tells whether a state was reached that stands for the World: its
// reduction, or that of the World in which core has begun with a deletion that
// it had no reason to wait with, or load balancers have let go of a server
// that had been drained before.
func (e *exploration) hasStandIn(w World) bool {
	var find func(w World, from int) bool
	find = func(w World, from int) bool {
		if from == MaxServers {
			return e.reached(w)
		}
		if find(w, from+1) {
			return true
		}
		s := &w.Servers[from]
		switch {
		case s.Machine() == Deleting && s.Phase() == NotBegun && s.has(NodeRef):
			s.setPhase(WaitingForPreDrain)
		case s.Excluded() == JustExcluded && (s.has(Waited) || s.Phase() == WaitingForPreTerminate):
			s.setExcluded(Settled)
		default:
			return false
		}
		return find(w, from+1)
	}
	return find(w, 0)
}

// reached tells whether the World's reduction was reached.
func (e *exploration) reached(w World) bool {
	e.workers[0].reduce(&w)
	w.canonical()
	key := e.pack(nil, &w)
	h := e.hash(key)
	_, found := e.shards[e.shardOf(h)].find(h, key)
	return found
}
