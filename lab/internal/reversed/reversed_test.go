package reversed

import (
	"testing"

	"github.com/drover-project/drover/lab/internal/probe"
)

func TestChoose(t *testing.T) {
	one := probe.Member{ID: 1, Name: "a-1", Node: "a", Leader: true}
	two := probe.Member{ID: 2, Name: "b-2", Node: "b"}
	learner := probe.Member{ID: 3, Name: "c-3", Node: "c", Learner: true}
	for name, tc := range map[string]struct {
		members      []probe.Member
		node         string
		victim, heir uint64
		fails        bool
	}{
		"two voters":          {[]probe.Member{one, two}, "a", 1, 2, false},
		"never a learner":     {[]probe.Member{one, two, learner}, "b", 2, 1, false},
		"only a learner left": {[]probe.Member{one, learner}, "a", 0, 0, true},
		"no such member":      {[]probe.Member{one, two}, "x", 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			victim, heir, err := choose(tc.members, tc.node)
			if (err != nil) != tc.fails {
				t.Fatalf("error %v", err)
			}
			if !tc.fails && (victim.ID != tc.victim || heir.ID != tc.heir) {
				t.Errorf("victim %d heir %d", victim.ID, heir.ID)
			}
		})
	}
}
