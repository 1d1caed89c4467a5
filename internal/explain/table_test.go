package explain

import (
	"maps"
	"slices"
	"testing"

	"github.com/drover-project/drover/internal/plan"
)

// Every rule of the planner is explained, and nothing else is.
func TestEveryRuleIsExplained(t *testing.T) {
	names := []string{plan.OneServerLeavesAtATime, plan.Settled}
	for _, r := range plan.Rules() {
		names = append(names, r.Name)
	}
	for _, name := range names {
		e, ok := table[name]
		if !ok {
			t.Errorf("rule %s has no entry in the table: say what comes next and what an operator can do", name)
			continue
		}
		if e.Next == "" || len(e.Options) == 0 || slices.Contains(e.Options, "") {
			t.Errorf("rule %s: what comes next and the options must be said", name)
		}
		if len(e.Options) > mostOptions {
			t.Errorf("rule %s: %d options do not fit on a screen", name, len(e.Options))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if !slices.Contains(names, name) {
			t.Errorf("%s is explained, and the planner has no such rule", name)
		}
	}
}

func TestEveryStepHasATitle(t *testing.T) {
	for step := ReplacementVotes; int(step) <= Steps; step++ {
		if step.String() == "" {
			t.Errorf("step %d has no title", step)
		}
	}
	if Step(0).String() != "" || Step(Steps+1).String() != "" {
		t.Error("a step that is none has a title")
	}
}
