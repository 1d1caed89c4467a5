package controlplane

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/report"
)

// expect compares metrics with the text form of Prometheus.
func expect(t *testing.T, from prometheus.Gatherer, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(from, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestActionsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	i := newInstruments(registry)
	now := time.Now()
	s := model.Snapshot{Now: now, Machines: []model.Machine{{Name: "m", Phase: model.PhaseWaitingForPreTerm, PhaseSince: now.Add(-3 * time.Second)}}}
	i.count(model.AskForMemberRemoval{Machine: "m"}, s, nil)
	i.count(model.AskForMemberRemoval{Machine: "m"}, s, errors.New("no connection"))
	i.count(model.RemoveMember{Machine: "m", Ground: model.HostDead}, s, nil)
	i.count(model.RemoveMember{Ground: model.NoMachine}, s, act.Refused{Reason: "it answers"})
	i.count(model.ReleasePreTerminateHook{Machine: "m"}, s, nil)
	i.count(model.ReleasePreDrainHook{Machine: "m"}, s, nil) // core does not wait for that one
	expect(t, registry, `
# HELP drover_actions_total Actions by kind and outcome: done, refused (its ground was gone) or failed.
# TYPE drover_actions_total counter
drover_actions_total{kind="AskForMemberRemoval",outcome="done"} 1
drover_actions_total{kind="AskForMemberRemoval",outcome="failed"} 1
drover_actions_total{kind="ReleasePreDrainHook",outcome="done"} 1
drover_actions_total{kind="ReleasePreTerminateHook",outcome="done"} 1
drover_actions_total{kind="RemoveMember",outcome="done"} 1
drover_actions_total{kind="RemoveMember",outcome="refused"} 1
# HELP drover_member_removals_total etcd members taken out, by path: asked of RKE2 or called through another voter, and by ground.
# TYPE drover_member_removals_total counter
drover_member_removals_total{ground="drained",path="rke2"} 1
drover_member_removals_total{ground="host_dead",path="call"} 1
`, "drover_actions_total", "drover_member_removals_total")
	if n := testutil.CollectAndCount(i.held); n != 1 {
		t.Errorf("%d hooks were held", n)
	}
}

// Every ground has a name of its own: an empty label would hide a new one.
func TestEveryGroundHasAName(t *testing.T) {
	for _, g := range []model.Ground{model.Drained, model.HostDead, model.NoMachine} {
		if grounds[g] == "" {
			t.Errorf("ground %q has no name", g)
		}
	}
}

func TestWhatIsTrueNow(t *testing.T) {
	registry := prometheus.NewRegistry()
	i := newInstruments(registry)
	key := client.ObjectKey{Namespace: "demo", Name: "cp"}
	now := time.Now()
	member := func(id uint64, answers bool) model.Member {
		return model.Member{ID: id, Name: "m", Answers: model.Known(answers, now)}
	}
	s := model.Snapshot{Now: now, Etcd: model.Etcd{Members: model.Known([]model.Member{member(1, true), member(2, true), member(3, false)}, now)}}
	d := model.Decision{Rule: "a", Waits: []model.Wait{{Rule: "a"}}}
	i.show(key, s, d, []report.Begun{{Rule: "a"}}, []report.Ended{{Phase: model.PhaseDraining, Took: time.Minute}})
	i.show(key, s, d, nil, nil)
	names := []string{"drover_wait", "drover_waits_total", "drover_settled", "drover_etcd_members", "drover_etcd_members_known", "drover_etcd_members_may_fail"}
	expect(t, registry, `
# HELP drover_etcd_members etcd members by state: healthy, unhealthy, unasked (no answer either way) or joining.
# TYPE drover_etcd_members gauge
drover_etcd_members{name="cp",namespace="demo",state="healthy"} 2
drover_etcd_members{name="cp",namespace="demo",state="joining"} 0
drover_etcd_members{name="cp",namespace="demo",state="unasked"} 0
drover_etcd_members{name="cp",namespace="demo",state="unhealthy"} 1
# HELP drover_etcd_members_known 1 while etcd's member list can be read, 0 otherwise.
# TYPE drover_etcd_members_known gauge
drover_etcd_members_known{name="cp",namespace="demo"} 1
# HELP drover_etcd_members_may_fail How many healthy voters may fail before the quorum is lost; negative when it is lost.
# TYPE drover_etcd_members_may_fail gauge
drover_etcd_members_may_fail{name="cp",namespace="demo"} 0
# HELP drover_settled 1 while everything of a control plane is as wished, 0 otherwise.
# TYPE drover_settled gauge
drover_settled{name="cp",namespace="demo"} 0
# HELP drover_wait 1 for each rule under which a control plane waits now.
# TYPE drover_wait gauge
drover_wait{name="cp",namespace="demo",rule="a"} 1
# HELP drover_waits_total Waits that have begun, by rule.
# TYPE drover_waits_total counter
drover_waits_total{rule="a"} 1
`, names...)
	if n := testutil.CollectAndCount(i.phases); n != 1 {
		t.Errorf("%d phases", n)
	}

	// What is not known is not shown as it was.
	s.Etcd.Members = model.Unknown[[]model.Member]("no voter answered", now)
	i.show(key, s, model.Decision{Rule: "settled"}, nil, nil)
	expect(t, registry, `
# HELP drover_etcd_members_known 1 while etcd's member list can be read, 0 otherwise.
# TYPE drover_etcd_members_known gauge
drover_etcd_members_known{name="cp",namespace="demo"} 0
# HELP drover_settled 1 while everything of a control plane is as wished, 0 otherwise.
# TYPE drover_settled gauge
drover_settled{name="cp",namespace="demo"} 1
`, slices.DeleteFunc(names, func(n string) bool { return n == "drover_waits_total" })...)
	i.forget(key)
	for _, g := range []*prometheus.GaugeVec{i.settled, i.membersKnown} {
		if testutil.CollectAndCount(g) != 0 {
			t.Error("a control plane that is gone is still shown")
		}
	}
}

// The page for operators names every metric, and no other.
func TestEveryMetricIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operate/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(drover_[a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = true
	}
	descriptions := make(chan *prometheus.Desc, 100)
	for _, c := range []prometheus.Collector{
		measured.waits, measured.waitsBegun, measured.settled, measured.actions, measured.held, measured.phases, measured.removals, measured.members,
		measured.membersKnown, measured.mayFail,
	} {
		c.Describe(descriptions)
	}
	close(descriptions)
	name := regexp.MustCompile(`fqName: "([^"]+)"`)
	for d := range descriptions {
		n := name.FindStringSubmatch(d.String())[1]
		if !documented[n] {
			t.Errorf("%s is not in docs/operate/metrics.md", n)
		}
		delete(documented, n)
	}
	for n := range documented {
		t.Errorf("docs/operate/metrics.md names %s, which does not exist", n)
	}
}
