package sim

import (
	"runtime"
	"slices"
	"testing"
)

// mustHold explores and wants no violation.
func mustHold(t *testing.T, o Options) {
	t.Helper()
	r, err := Explore(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d states, %d transitions, %d views, depth %d, %d bytes a state", r.States, r.Transitions, r.Views, r.Depth, r.Bytes/r.States)
	if r.Violation != nil {
		t.Fatal("\n" + r.Violation.String())
	}
	if r.Goals == 0 {
		t.Fatal("the goal is never reached, so nothing was shown")
	}
}

// TestEveryState walks all states of small control planes. `make explore`
// walks those of larger ones.
func TestEveryState(t *testing.T) {
	with := func(servers, surge int, faults ...Fault) Options {
		return Options{Servers: servers, Surge: surge, Budget: budget(faults...), Stale: true, Restarts: true, Blackouts: true}
	}
	for name, o := range map[string]Options{
		"one server":                                       with(1, 1),
		"one server, a user deletes":                       with(1, 1, UserDelete),
		"one server, one dies":                             with(1, 1, Death),
		"two servers":                                      with(2, 1),
		"three servers":                                    with(3, 1),
		"three servers, one dies":                          with(3, 1, Death),
		"three servers, no surge":                          with(3, 0),
		"three servers, no surge, one dies":                with(3, 0, Death),
		"three servers, RKE2 is silent":                    with(3, 1, Silence, Death),
		"three servers, one freezes":                       with(3, 0, Freeze),
		"three servers, etcd breaks":                       with(3, 0, Corruption),
		"three servers, a kubelet dies":                    with(3, 1, KubeletDeath),
		"three servers, a Node is deleted":                 with(3, 0, NodeDelete),
		"three servers, a host disappears":                 with(3, 0, InfraLoss),
		"three servers, a host starts early":               with(3, 1, EarlyStart, UserDelete),
		"a Node is deleted beside a server that joins":     with(3, 1, Freeze, NodeDelete),
		"a marked server is well beside a dead kubelet":    direct(with(3, 0, KubeletDeath, Freeze)),
		"an external datastore, no API server is left":     outside(with(3, 0, KubeletDeath, InfraLoss)),
		"an external datastore, one server":                outside(with(1, 1, Death, UserDelete)),
		"an external datastore, two servers":               outside(with(2, 1, Freeze, UserDelete)),
		"an external datastore, three servers, no surge":   outside(with(3, 0, InfraLoss, UserDelete)),
		"an external datastore, from nothing":              outside(Options{Servers: 3, Surge: 1, Empty: true, Stale: true, Restarts: true, Blackouts: true}),
		"an etcd that can't be asked, one server":          hidden(with(1, 1)),
		"it, and a user deletes that server":               hidden(with(1, 1, UserDelete)),
		"it, and two servers that are to become one":       hidden(with(2, 1, ScaleDown)),
		"it, and three servers":                            hidden(with(3, 1)),
		"it, and three servers, no surge":                  hidden(with(3, 0)),
		"three servers, one server fewer":                  with(3, 1, ScaleDown),
		"three servers, one server more":                   with(3, 1, ScaleUp),
		"three servers, another version":                   with(3, 0, Upgrade),
		"three servers, no surge, a hook of somebody else": with(3, 0, Foreign),
		"everything is deleted":                            with(3, 0, WholeDelete),
		"three servers, etcd breaks and nobody looks":      {Servers: 3, Surge: 1, Budget: budget(Corruption), NoHealthCheck: true, Stale: true, Restarts: true},
		"from nothing":                                     {Servers: 3, Surge: 1, Empty: true, Stale: true, Restarts: true, Blackouts: true},
	} {
		t.Run(name, func(t *testing.T) { mustHold(t, o) })
	}
}

// outside keeps the data in an external datastore.
func outside(o Options) Options {
	o.External = true
	return o
}

// hidden lets the servers run an etcd that can't be asked.
func hidden(o Options) Options {
	o.Hidden = true
	return o
}

// direct lets the controller reach the members without kubelets.
func direct(o Options) Options {
	o.Direct = true
	return o
}

// TestTwoDeathsAndTwoDeletes walks what may come of two hosts that die and two
// Machines that a user deletes, at any time.
func TestTwoDeathsAndTwoDeletes(t *testing.T) {
	for _, r := range Runs() {
		o := r.Explorations[0]
		if o.Servers > 3 || len(r.Explorations) > 1 {
			continue
		}
		t.Run(r.Name, func(t *testing.T) { mustHold(t, o) })
	}
}

// TestAnyTwoFaults walks what may come of any two faults. `make explore` does
// so with three servers.
func TestAnyTwoFaults(t *testing.T) {
	for _, o := range slices.Concat(Pairs(1, 1), Pairs(2, 1), WithKubeletDeath(1, 1), WithKubeletDeath(2, 1), OutsidePairs(1, 1), OutsidePairs(2, 1)) {
		r, err := Explore(o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Violation != nil {
			t.Errorf("%d servers, budget %v:\n%s", o.Servers, o.Budget, r.Violation)
		}
	}
}

// The same run on one worker and on many finds the same states by ways of the
// same length, and tells the same story.
func TestWorkersAgree(t *testing.T) {
	o := Options{Servers: 3, Surge: 0, Budget: budget(Death), Decide: without("dead_member_goes_first")}
	var stories []string
	var figures []Figures
	for _, workers := range []int{1, 4 * runtime.GOMAXPROCS(0)} {
		o.Workers = workers
		r, err := Explore(o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Violation == nil {
			t.Fatal("no violation")
		}
		stories = append(stories, r.Violation.Breach)
		figures = append(figures, r.Figures)
	}
	if stories[0] != stories[1] || figures[0].States != figures[1].States || figures[0].Transitions != figures[1].Transitions || figures[0].Depth != figures[1].Depth {
		t.Errorf("one worker: %s, %+v\nmany: %s, %+v", stories[0], figures[0], stories[1], figures[1])
	}
}

// BenchmarkExplore measures states a second.
func BenchmarkExplore(b *testing.B) {
	o := Options{Servers: 3, Surge: 0, Budget: budget(Death, UserDelete)}
	var states uint64
	for b.Loop() {
		r, err := Explore(o)
		if err != nil {
			b.Fatal(err)
		}
		states += r.States
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds()/float64(runtime.GOMAXPROCS(0)), "states/s/core")
}
