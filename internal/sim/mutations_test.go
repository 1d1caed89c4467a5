package sim

import (
	"strings"
	"testing"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// without is the planner with one rule left out.
func without(name string) Decider {
	var rest []plan.Rule
	for _, r := range plan.Rules() {
		if r.Name != name {
			rest = append(rest, r)
		}
	}
	return func(s model.Snapshot) model.Decision { return plan.DecideWith(rest, s) }
}

// instead is the planner with an answer of somebody else's where that has one.
func instead(f func(model.Snapshot) model.Action) Decider {
	return func(s model.Snapshot) model.Decision {
		if a := f(s); a != nil {
			return model.Decision{Rule: "mutation", Action: a}
		}
		return plan.Decide(s)
	}
}

// budget is a Budget with some faults in it, one each.
func budget(faults ...Fault) Budget {
	var b Budget
	for _, f := range faults {
		b[f]++
	}
	return b
}

// mutation is a planner that has been tampered with, and the smallest run in
// which that shows.
type mutation struct {
	name   string
	decide Decider
	guards Guard // live checks that would hide it, left out as well
	run    Options
	breach string // what the violation must begin with
}

// small is a run that all mutations may use.
func small(servers, surge int, b Budget) Options {
	return Options{Servers: servers, Surge: surge, Budget: b, MaxStates: 2_000_000}
}

// rulesLeftOut has every rule once.
var rulesLeftOut = []mutation{
	{name: "whole_control_plane_is_deleted", run: small(1, 1, budget(WholeDelete)), breach: "I3"},
	{name: "hooks_are_kept", run: small(1, 1, budget(HookLoss)), breach: "I3"},
	{name: "dead_member_goes_first", run: small(3, 0, budget(Death)), breach: "I3"},
	{name: "orphan_member_is_removed", run: small(3, 1, budget(UserDelete, HookLoss, Silence)), breach: "I"},
	{name: "released_server_disappears", run: small(1, 1, budget()), breach: "I"},
	{name: "replacement_before_drain", run: small(1, 1, budget(UserDelete)), breach: "I12"},
	{name: "load_balancers_let_go_first", run: small(1, 1, budget()), breach: "I14"},
	{name: "drain_comes_before_member", run: small(1, 1, budget()), breach: "I"},
	{name: "foreign_hooks_come_first", guards: Drained, run: small(1, 1, budget(Foreign)), breach: "I13"},
	{name: "quorum_survives_removal", run: small(3, 0, budget(Death)), breach: "I12"},
	{name: "leader_moves_first", guards: NotLeader, run: small(2, 1, budget()), breach: "I5"},
	{name: "member_is_removed_by_the_safe_path", run: small(2, 1, budget()), breach: "I3"},
	{name: "joiner_is_let_in_first", guards: MemberGone, run: small(1, 1, budget(UserDelete)), breach: "I"},
	{name: "etcd_confirms_removal", run: small(1, 1, budget()), breach: "I"},
	{name: "first_server_starts_alone", run: Options{Servers: 1, Surge: 1, Empty: true}, breach: "I3"},
	{name: "one_server_joins_at_a_time", run: Options{Servers: 3, Surge: 1, Empty: true}, breach: "I15"},
	{name: "broken_outdated_server_goes_first", run: Options{Servers: 3, Surge: 1, Budget: budget(Corruption), NoHealthCheck: true}, breach: "I3"},
	{name: "control_plane_is_healthy", run: small(3, 0, budget(Corruption)), breach: "I16"},
	{name: "missing_server_is_created", run: Options{Servers: 3, Surge: 1, AtRest: true, Budget: budget(Death)}, breach: "I3"},
	{name: "surplus_server_is_deleted", run: small(1, 1, budget()), breach: "I"},
	{name: "outdated_server_is_replaced", run: small(1, 1, budget()), breach: "I3"},
}

// TestEveryRuleIsNeeded leaves out one rule after the other and wants the
// explorer to notice.
func TestEveryRuleIsNeeded(t *testing.T) {
	for _, m := range rulesLeftOut {
		t.Run(m.name, func(t *testing.T) { m.decide = without(m.name); m.mustBeFound(t) })
	}
}

func (m mutation) mustBeFound(t *testing.T) {
	t.Helper()
	o := m.run
	o.Decide, o.Without = m.decide, m.guards
	r, err := Explore(o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Violation == nil {
		t.Fatalf("nobody notices: %d states", r.States)
	}
	if !strings.HasPrefix(r.Violation.Breach, m.breach) {
		t.Fatalf("found, but not as %s:\n%s", m.breach, r.Violation)
	}
	t.Logf("%d states\n%s", r.States, r.Violation)
}
