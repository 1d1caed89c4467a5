// Package plan decides the one next step of a control plane's life.
//
// Decide reads a Snapshot and nothing else: no clock, no client, no memory.
// It asks an ordered list of small named rules, and the first that has
// something to say wins. What a rule forbids or waits for carries the rule's
// name to conditions, events and the command line.
package plan

import "github.com/drover-project/drover/internal/model"

// Rule is one named piece of the order.
type Rule struct {
	// Name is a sentence in snake case, as it appears in messages.
	Name string
	// Why says in one or two sentences what would go wrong without it.
	Why string

	decide func(*view) (model.Decision, bool)
}

// rules is the order of precedence. Each rule stands in a file of its own
// name or beside the rules it belongs to.
func rules() []Rule {
	return []Rule{
		deletionOfTheWhole,
		hooksAreKept,
		deadMemberGoesFirst,
		orphanMemberIsRemoved,
		brokenOutdatedServerGoesFirst,
		brokenSurplusGoesFirst,
		unhealthyServerIsReplaced,
		releasedServerDisappears,
		replacementBeforeDrain,
		hiddenEtcdKeepsQuorum,
		loadBalancersLetGoFirst,
		drainComesBeforeMember,
		foreignHooksComeFirst,
		lastVoterStays,
		quorumSurvivesRemoval,
		leaderMovesFirst,
		memberIsRemoved,
		strangeMemberIsSettledFirst,
		joinerIsLetInFirst,
		etcdConfirmsRemoval,
		specCanBeFollowed,
		etcdHopIsBridged,
		firstServerStarts,
		dataIsNotStartedOver,
		oneServerJoinsAtATime,
		controlPlaneIsHealthy,
		missingServerIsCreated,
		hiddenEtcdIsOpenedFirst,
		surplusServerIsDeleted,
		rolloutIsHeld,
		outdatedServerIsReplaced,
	}
}

// ordered is the list as Decide uses it, made once: the explorer decides
// millions of times.
var ordered = rules()

// Rules lists the rules in the order in which they are asked.
func Rules() []Rule { return rules() }

// Decide gives the next step for the snapshot. The same snapshot always gives
// the same decision.
func Decide(s model.Snapshot) model.Decision { return DecideWith(ordered, s) }

// DecideWith is Decide for a chosen list of rules. It exists so that a test
// can leave a rule out and see what goes wrong.
func DecideWith(rules []Rule, s model.Snapshot) model.Decision {
	v := newView(&s)
	for _, r := range rules {
		d, ok := r.decide(v)
		if !ok {
			continue
		}
		d.Rule = r.Name
		for i := range d.Waits {
			if d.Waits[i].Rule == "" {
				d.Waits[i].Rule = r.Name
			}
		}
		d.Waits = append(d.Waits, v.heldBack()...)
		d.Waits = append(d.Waits, v.notRemediated()...)
		return d
	}
	return model.Decision{Rule: Settled, Waits: v.notRemediated()}
}

// Settled is the rule name of a decision that leaves nothing to do.
const Settled = "settled"

// do is the decision to carry out an action.
func do(a model.Action) (model.Decision, bool) { return model.Decision{Action: a}, true }

// wait is the decision to wait.
func wait(w ...model.Wait) (model.Decision, bool) { return model.Decision{Waits: w}, true }

// pass leaves the decision to the next rule.
func pass() (model.Decision, bool) { return model.Decision{}, false }
