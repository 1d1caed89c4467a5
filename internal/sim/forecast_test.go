package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/drover-project/drover/internal/model"
)

// fleet is a Snapshot of n whole servers in two failure domains, the older ones
// with the later names. The first of them leads.
func fleet(n, surge int, outdated bool) model.Snapshot {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	v := View{}
	s := model.Snapshot{Now: now, ControlPlane: v.controlPlane(), Cluster: cluster(false)}
	s.ControlPlane.Replicas, s.ControlPlane.MaxSurge, s.ControlPlane.Initialized, s.ControlPlane.Problems = n, surge, true, nil
	s.Cluster.FailureDomains = []string{"a", "b"}
	var members []model.Member
	for i := range n {
		name := fmt.Sprintf("m%d", i+1)
		m := model.Machine{
			Name: name, UID: name, Created: now.Add(-time.Duration(i+1) * time.Hour), Version: "v1.36.3+rke2r1", FailureDomain: []string{"a", "b"}[i%2],
			PreDrainHook: true, PreTerminateHook: true, InfrastructureReady: true, InfrastructureGone: model.Known(false, now), Addresses: address,
			NodeName: "n-" + name, Node: model.Known(model.Node{Exists: true, Ready: model.Yes, MemberAnnotated: true, ReadySince: now.Add(-time.Hour)}, now),
		}
		if outdated {
			m.Outdated = []string{"version v1.35.7+rke2r1, wanted v1.36.3+rke2r1"}
		}
		s.Machines = append(s.Machines, m)
		members = append(members, model.Member{
			ID: uint64(0x10 + i), Name: "n-" + name + "-ab", PeerURLs: peer, Leader: i == 0, Answers: model.Known(true, now), NodeReady: model.Yes, Machine: name,
		})
	}
	s.Etcd.Members = model.Known(members, now)
	return s
}

func foresee(t *testing.T, s model.Snapshot) *Forecast {
	t.Helper()
	f, err := Foresee(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Whole forecasts, step by step. Run it with -rewrite to accept a change.
func TestForecastTexts(t *testing.T) {
	datadriven.RunTest(t, "testdata/forecasts", func(t *testing.T, d *datadriven.TestData) string {
		var n, surge, replicas int
		d.ScanArgs(t, "servers", &n)
		d.ScanArgs(t, "surge", &surge)
		s := fleet(n, surge, d.Cmd == "upgrade")
		if d.Cmd == "scale" {
			d.ScanArgs(t, "replicas", &replicas)
			s.ControlPlane.Replicas = replicas
		}
		f := foresee(t, s)
		var b strings.Builder
		for i, e := range f.Events {
			fmt.Fprintf(&b, "%d. %s [%s] %s", i+1, e.Server, e.By, e.Text)
			if e.Rule != "" {
				fmt.Fprintf(&b, " (%s)", e.Rule)
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%+v settled=%v\n", f.Totals, f.Settled)
		return b.String()
	})
}

// A rollout ends with as many servers as before, each replaced once, and with
// one move of the leader.
func TestForecastOfRollouts(t *testing.T) {
	for _, c := range []struct{ servers, surge int }{{1, 1}, {2, 1}, {3, 0}, {3, 1}, {4, 1}, {5, 0}, {5, 1}, {7, 1}} {
		f := foresee(t, fleet(c.servers, c.surge, true))
		got := f.Totals
		if !f.Settled || got.Replaced != c.servers || got.Created != c.servers || got.Deleted != c.servers || got.LeaderMoves > 2 {
			t.Errorf("%d servers, maxSurge %d: %+v, settled %v", c.servers, c.surge, got, f.Settled)
		}
		if got.AskedRKE2+got.MemberCalls < c.servers {
			t.Errorf("%d servers, maxSurge %d: only %d members are removed", c.servers, c.surge, got.AskedRKE2+got.MemberCalls)
		}
		if c.servers == 1 && got.MemberCalls == 0 {
			t.Error("from two servers to one the member must be removed by a call")
		}
	}
}

// What is forecast is the order that must hold for each server that leaves.
func TestForecastKeepsTheOrder(t *testing.T) {
	f := foresee(t, fleet(3, 1, true))
	at := map[string]int{}
	for i, e := range f.Events {
		switch {
		case e.Server == "m1" && strings.HasPrefix(e.Text, "core has drained"):
			at["drained"] = i
		case e.Server == "m1" && (strings.HasPrefix(e.Text, "ask RKE2") || strings.HasPrefix(e.Text, "remove etcd member")):
			at["removed"] = i
		case e.Server == "m1" && e.Text == "release Machine m1 to be destroyed":
			at["released"] = i
		}
	}
	if len(at) != 3 || at["drained"] > at["removed"] || at["removed"] > at["released"] {
		t.Errorf("%v", at)
	}
}

// Failure domains and ages are those of the Snapshot: the planner takes the
// oldest server of the most crowded domain first.
func TestForecastKnowsDomainsAndAges(t *testing.T) {
	f := foresee(t, fleet(3, 1, true))
	var gone []string
	for _, e := range f.Events {
		if strings.HasPrefix(e.Text, "delete Machine") {
			gone = append(gone, e.Server)
		}
		if strings.HasPrefix(e.Text, "create a Machine") && !strings.Contains(e.Text, "in failure domain") {
			t.Errorf("no failure domain: %s", e.Text)
		}
	}
	if len(gone) != 3 || gone[0] != "m3" {
		t.Errorf("deleted in the order %v", gone)
	}
}

// What nothing ends by itself is named, and not passed over.
func TestForecastEndsWithAWait(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *model.Snapshot)
		rule   string
	}{
		"template missing":       {func(s *model.Snapshot) { s.Cluster.Template = model.Known(false, s.Now) }, "outdated_server_is_replaced"},
		"registration refused":   {func(s *model.Snapshot) { s.Cluster.Registration = model.Known(false, s.Now) }, "outdated_server_is_replaced"},
		"spec can't be followed": {func(s *model.Snapshot) { s.ControlPlane.Problems = []string{"no"} }, "spec_can_be_followed"},
		"a static pod does not work": {func(s *model.Snapshot) {
			s.Machines[1].Components = map[string]model.Fact[bool]{"kube-scheduler": model.Known(false, s.Now)}
		}, "control_plane_is_healthy"},
		"two hosts are silent": {func(s *model.Snapshot) {
			for i := range 2 {
				s.Machines[i].Node.Value.Ready, s.Machines[i].Node.Value.ReadySince = model.Unclear, s.Now.Add(-time.Hour)
				s.Etcd.Members.Value[i].Answers, s.Etcd.Members.Value[i].Leader = model.Unknown[bool]("silent", s.Now), false
			}
		}, "one_server_joins_at_a_time"},
	} {
		s := fleet(3, 1, true)
		c.change(&s)
		f, err := Foresee(s, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f.Settled || len(f.Waits) == 0 || f.Waits[0].Rule != c.rule {
			t.Errorf("%s: settled %v, waits %+v", name, f.Settled, f.Waits)
		}
	}
}

// A server whose etcd does not run turns not Ready, and the rollout takes it
// first.
func TestForecastTakesTheBrokenFirst(t *testing.T) {
	s := fleet(3, 1, true)
	s.Etcd.Members.Value[1].Answers = model.Known(false, s.Now)
	f := foresee(t, s)
	i := slices.IndexFunc(f.Events, func(e Event) bool { return e.By == drover })
	if !f.Settled || i < 0 || f.Events[i].Server != "m2" || f.Events[i].Rule != "broken_outdated_server_goes_first" || f.Totals.MemberCalls == 0 {
		t.Errorf("%+v", f)
	}
}

// The server that serves removal annotations can't remove itself.
func TestForecastKnowsWhoRemovesMembers(t *testing.T) {
	s := fleet(3, 1, true)
	s.Machines[2].Node.Value.RemovesMembers = true
	f := foresee(t, s)
	if f.Totals.AskedRKE2 != 2 || f.Totals.MemberCalls != 1 {
		t.Errorf("%+v", f.Totals)
	}
	for _, e := range f.Events {
		if strings.HasPrefix(e.Text, "remove etcd member") && e.Server != "m3" {
			t.Errorf("%+v", e)
		}
	}
}

func TestForecastOfDeletion(t *testing.T) {
	s := fleet(3, 1, false)
	s.ControlPlane.Deleting = true
	if f := foresee(t, s); !f.Gone || f.Totals.Deleted != 3 {
		t.Errorf("%+v", f)
	}
	s.Cluster.Workers = 2
	if f := foresee(t, s); f.Gone || len(f.Waits) != 1 {
		t.Errorf("%+v", f)
	}
}

// A control plane that begins has no members that could be known.
func TestForecastOfTheFirstServers(t *testing.T) {
	s := fleet(0, 1, false)
	s.ControlPlane.Replicas, s.ControlPlane.Initialized = 3, false
	s.Etcd.Members = model.Unknown[[]model.Member]("no connection", s.Now)
	if f := foresee(t, s); !f.Settled || f.Totals.Created != 3 {
		t.Errorf("%+v", f)
	}
}

// With an external datastore there are no members to care for.
func TestForecastWithExternalDatastore(t *testing.T) {
	s := fleet(3, 1, true)
	s.ControlPlane.ExternalDatastore = true
	s.Etcd.Members = model.Unknown[[]model.Member]("the control plane keeps no etcd members of its own", s.Now)
	f := foresee(t, s)
	if !f.Settled || f.Totals != (Totals{Created: 3, Deleted: 3, Replaced: 3}) {
		t.Errorf("%+v", f.Totals)
	}
	for _, e := range f.Events {
		if strings.Contains(e.Text, "member") || strings.Contains(e.Text, "learner") {
			t.Errorf("%s", e.Text)
		}
	}
}

// What a health check says, and that a server is the replacement of another,
// comes from the Snapshot; retries count on the clock of the model.
func TestForecastKnowsUnhealthyServers(t *testing.T) {
	s := fleet(3, 1, false)
	s.Machines[1].Unhealthy = &model.Mark{Since: s.Now.Add(-time.Minute), Why: "the disk is full"}
	s.ControlPlane.Remediation = model.RemediationPolicy{MinHealthyPeriod: time.Hour}
	f := foresee(t, s)
	told := func(e Event) bool { return e.Server == "m2" && strings.Contains(e.Text, "the disk is full") }
	if !f.Settled || f.Totals.Replaced != 1 || !slices.ContainsFunc(f.Events, told) {
		t.Errorf("%+v", f)
	}

	most := 1
	s.ControlPlane.Remediation.MaxRetry = &most
	s.Machines[1].RemediationFor = &model.Remediation{Machine: "m0", At: s.Now.Add(-time.Minute), Retry: 1}
	if f := foresee(t, s); f.Settled || len(f.Events) > 0 || len(f.Waits) != 1 || !strings.Contains(f.Waits[0].Message, "it replaces m0, and 1 replacements in a row are the limit") {
		t.Errorf("%+v", f)
	}
	s.Machines[1].RemediationFor.At = s.Now.Add(-2 * time.Hour)
	if f := foresee(t, s); !f.Settled || f.Totals.Replaced != 1 {
		t.Errorf("%+v", f)
	}
}

func TestForecastNeedsToSee(t *testing.T) {
	s := fleet(3, 1, true)
	s.Etcd.Members = model.Unknown[[]model.Member]("no voter answered", s.Now)
	if _, err := Foresee(s, nil); !errors.Is(err, ErrUnseen) || !strings.Contains(err.Error(), "no voter answered") {
		t.Errorf("%v", err)
	}
}

// From wherever a rollout without failures has got to, the rest is forecast to
// its end.
func TestForecastFromTheMiddle(t *testing.T) {
	for _, o := range []Options{{Servers: 3, Surge: 1}, {Servers: 3}, {Servers: 2, Surge: 1}, {Servers: 1, Surge: 1}} {
		stage := NewStage(o)
		for limit := 500; !stage.Reached(); limit-- {
			v, n := stage.view()
			s := v.Snapshot(&n)
			if limit == 0 {
				t.Fatalf("%+v: nothing settles", o)
			}
			if f, err := Foresee(s, nil); err == nil && !f.Settled || err != nil && !errors.Is(err, ErrUnseen) {
				t.Fatalf("%+v: %v, %+v from\n%s", o, err, f, strings.Join(stage.Servers(), "\n"))
			}
			if err := stage.Run("", 1, func(string) {}); err != nil && !strings.Contains(err.Error(), "nothing is settled") {
				t.Fatal(err)
			}
		}
	}
}
