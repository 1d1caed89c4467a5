package sim

import (
	"slices"
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
	{name: "orphan_member_is_removed", run: small(2, 1, budget(UserDelete)), breach: "I3"},
	{name: "released_server_disappears", run: small(2, 1, budget(UserDelete)), breach: "I"},
	{name: "replacement_before_drain", run: small(1, 1, budget(UserDelete)), breach: "I12"},
	{name: "hidden_etcd_keeps_quorum", run: hidden(small(1, 1, budget(UserDelete))), breach: "I2"},
	{name: "load_balancers_let_go_first", run: small(1, 1, budget()), breach: "I14"},
	{name: "drain_comes_before_member", run: small(1, 1, budget()), breach: "I"},
	{name: "foreign_hooks_come_first", guards: Drained, run: small(1, 1, budget(Foreign)), breach: "I13"},
	{name: "quorum_survives_removal", run: small(3, 0, budget(Death)), breach: "I12"},
	{name: "leader_moves_first", guards: NotLeader, run: small(2, 1, budget()), breach: "I5"},
	{name: "member_is_removed_by_the_safe_path", run: small(2, 1, budget()), breach: "I3"},
	{name: "strange_member_is_settled_first", guards: MemberGone, run: small(3, 1, budget(EarlyStart, UserDelete)), breach: "I11"},
	{name: "joiner_is_let_in_first", guards: MemberGone, run: small(1, 1, budget(UserDelete)), breach: "I"},
	{name: "etcd_confirms_removal", run: small(1, 1, budget()), breach: "I"},
	{name: "first_server_starts_alone", run: Options{Servers: 1, Surge: 1, Empty: true}, breach: "I3"},
	{name: "one_server_joins_at_a_time", run: Options{Servers: 3, Surge: 1, Empty: true}, breach: "I15"},
	{name: "broken_outdated_server_goes_first", run: Options{Servers: 3, Surge: 1, Budget: budget(Corruption), NoHealthCheck: true}, breach: "I3"},
	{name: "broken_surplus_goes_first", run: Options{Servers: 3, Surge: 1, AtRest: true, Budget: budget(ScaleDown, Death), NoHealthCheck: true}, breach: "I3"},
	{name: "unhealthy_server_is_replaced", run: Options{Servers: 3, Surge: 1, AtRest: true, Budget: budget(Death)}, breach: "I3"},
	{name: "control_plane_is_healthy", run: small(3, 0, budget(Corruption)), breach: "I16"},
	{name: "missing_server_is_created", run: Options{Servers: 3, Surge: 1, AtRest: true, Budget: budget(Death)}, breach: "I3"},
	{name: "surplus_server_is_deleted", run: small(1, 1, budget()), breach: "I"},
	{name: "outdated_server_is_replaced", run: small(1, 1, budget()), breach: "I3"},
}

// missedByNobody are the rules whose absence the explorer can't notice, and why
// they stay.
var missedByNobody = map[string]string{
	"hidden_etcd_is_opened_first": "hidden_etcd_keeps_quorum holds the second server, but a single one that nobody can replace is better left alone",
	"last_voter_stays":            "quorum_survives_removal holds the last voter as well; this one names the reason",
	"etcd_hop_is_bridged":         "no World knows of releases",
	"spec_can_be_followed":        "no World holds a spec that can't be followed",
	"rollout_is_held":             "no World holds a rollout, and not replacing a server breaks nothing",
	"data_is_not_started_over":    "a World without data is lost, and nobody is held to anything there",
}

// Every rule is in one list or the other.
func TestNoRuleIsForgotten(t *testing.T) {
	listed := map[string]bool{}
	for _, m := range rulesLeftOut {
		listed[m.name] = true
	}
	for _, r := range plan.Rules() {
		if _, excused := missedByNobody[r.Name]; listed[r.Name] == excused {
			t.Errorf("rule %s: left out %v, excused %v", r.Name, listed[r.Name], excused)
		}
	}
	if got, want := len(listed)+len(missedByNobody), len(plan.Rules()); got != want {
		t.Errorf("%d rules are named, there are %d", got, want)
	}
}

// TestEveryRuleIsNeeded leaves out one rule after the other and wants the
// explorer to notice.
func TestEveryRuleIsNeeded(t *testing.T) {
	for _, m := range rulesLeftOut {
		t.Run(m.name, func(t *testing.T) { m.decide = without(m.name); m.mustBeFound(t) })
	}
}

// classics are the mistakes that other providers have made.
var classics = []mutation{
	{
		name: "the member is removed before the drain", guards: Drained, run: small(3, 1, budget()), breach: "I1",
		decide: instead(func(s model.Snapshot) model.Action {
			for _, m := range s.Machines {
				member, listed := s.MemberOf(m.Name)
				if m.Deleting && listed && !member.Leader && m.Phase == model.PhaseWaitingForPreDrain {
					return model.RemoveMember{Member: member.ID, Machine: m.Name, Ground: model.Drained}
				}
			}
			return nil
		}),
	},
	{
		name: "a server is drained whose Node core has not told of yet", run: small(1, 1, budget(UserDelete)), breach: "I14",
		decide: instead(func(s model.Snapshot) model.Action {
			for _, m := range s.Machines {
				if m.Phase == model.PhaseWaitingForPreDrain && m.PreDrainHook && m.NodeName == "" {
					return model.ReleasePreDrainHook{Machine: m.Name}
				}
			}
			return nil
		}),
	},
	{
		name: "the leader is removed like any other", decide: without("leader_moves_first"), guards: NotLeader, run: small(3, 1, budget()), breach: "I5",
	},
	{
		name: "RKE2 is asked also on the way from two to one", guards: KeepsQuorum, run: small(1, 1, budget()), breach: "I2",
		decide: instead(func(s model.Snapshot) model.Action {
			for _, m := range s.Machines {
				member, listed := s.MemberOf(m.Name)
				if listed && !member.Leader && m.Phase == model.PhaseWaitingForPreTerm && !m.Node.Value.RemovalAsked {
					return model.AskForMemberRemoval{Machine: m.Name, Member: member.ID}
				}
			}
			return nil
		}),
	},
	{
		name: "nothing is created while a Machine is being deleted", run: small(3, 0, budget(Death)), breach: "I3",
		decide: func(s model.Snapshot) model.Decision {
			d := plan.Decide(s)
			for _, m := range s.Machines {
				if _, creates := d.Action.(model.CreateMachine); creates && m.Deleting {
					return model.Decision{Rule: "mutation", Waits: []model.Wait{{
						Rule: "mutation", Message: "a Machine is being deleted", Blockers: []model.Blocker{{Kind: "Machine", Name: m.Name, Unblock: "never"}},
					}}}
				}
			}
			return d
		},
	},
	{
		name: "Machines are created on a stale list", guards: SameMachines, run: Options{Servers: 1, Surge: 1, Stale: true}, breach: "I",
	},
	{
		name: "a silent member is taken for a dead one", guards: SilentHost, run: small(3, 1, budget(Freeze)), breach: "I",
		decide: instead(func(s model.Snapshot) model.Action {
			for _, m := range s.Etcd.Members.Value {
				if !m.Answers.Known && m.Machine != "" {
					return model.RemoveMember{Member: m.ID, Machine: m.Machine, Ground: model.HostDead}
				}
			}
			return nil
		}),
	},
	{
		name: "a member is taken for a leftover while its host is not reported yet", run: small(2, 1, budget(EarlyStart)), breach: "I1",
		decide: instead(func(s model.Snapshot) model.Action {
			for _, m := range s.Etcd.Members.Value {
				if m.Machine == "" && !m.Leader && s.Now.Sub(m.UnmatchedSince) >= plan.OrphanGrace {
					return model.RemoveMember{Member: m.ID, Ground: model.NoMachine}
				}
			}
			return nil
		}),
	},
	{
		name: "a host that nobody has reported is let go, as if it could not be joining", guards: MemberGone, run: small(1, 1, budget(EarlyStart, UserDelete)), breach: "I",
		decide: instead(func(s model.Snapshot) model.Action {
			for _, m := range s.Machines {
				if m.Phase == model.PhaseWaitingForPreTerm && m.PreTerminateHook && !m.InfrastructureReady {
					return model.ReleasePreTerminateHook{Machine: m.Name}
				}
			}
			return nil
		}),
	},
	{
		name: "without members nobody waits for a replacement", run: outside(small(1, 1, budget(UserDelete))), breach: "I12",
		decide: instead(func(s model.Snapshot) model.Action {
			for _, m := range s.Machines {
				switch {
				case !m.Deleting || !m.PreTerminateHook:
				case m.PreDrainHook && m.Phase == model.PhaseWaitingForPreDrain && !m.Node.Value.Excluded:
					return model.ExcludeFromLoadBalancers{Machine: m.Name}
				case m.PreDrainHook && m.Phase == model.PhaseWaitingForPreDrain && s.Now.Sub(m.Node.Value.ExcludedAt) >= settle:
					return model.ReleasePreDrainHook{Machine: m.Name}
				}
			}
			return nil
		}),
	},
	{
		name: "two joining servers are let go", decide: plan.Decide, guards: OneLetGo, breach: "I2",
		run: Options{Servers: 3, Surge: 0, Budget: budget(Death, UserDelete, UserDelete, UserDelete), Stale: true},
	},
	{
		name: "two servers leave at once", guards: OneLeaves, run: small(3, 1, budget(UserDelete)), breach: "I",
		decide: instead(func(s model.Snapshot) model.Action {
			for _, m := range s.Machines {
				if m.PreDrainHook && m.Phase == model.PhaseWaitingForPreDrain {
					return model.ReleasePreDrainHook{Machine: m.Name}
				}
			}
			return nil
		}),
	},
}

// TestClassicMistakesAreFound makes the mistakes that others made.
func TestClassicMistakesAreFound(t *testing.T) {
	for _, m := range classics {
		t.Run(m.name, m.mustBeFound)
	}
}

func (m mutation) mustBeFound(t *testing.T) {
	t.Helper()
	mustHold(t, m.run) // or the violation would say nothing about the mutation
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
	if slices.Contains(r.Violation.Steps, untold) {
		t.Errorf("the story has a gap:\n%s", r.Violation)
	}
	t.Logf("%d states\n%s", r.States, r.Violation)
}
