package timeline

import (
	"slices"
	"strings"
	"testing"
)

func sorted(s *script) []Event {
	slices.SortStableFunc(s.events, func(a, b Event) int { return a.At.Compare(b.At) })
	return s.events
}

func TestCounts(t *testing.T) {
	events := sorted(upgrade())
	if n := MostServers(events); n != 4 {
		t.Errorf("most servers %d, want 4", n)
	}
	if n := FewestVoters(events, at(104)); n != 3 {
		t.Errorf("fewest voters %d, want 3", n)
	}
	if n := FewestVoters(events, at(0)); n != 0 {
		t.Errorf("fewest voters from the beginning %d, want 0", n)
	}
}

func TestLeaderMovedFirst(t *testing.T) {
	s := upgrade()
	s.add(15, Event{Kind: LeaderChanged, Node: "cp-old1", Object: "cp-old1-0a1b2c3d"})
	if !LeaderMovedFirst(sorted(s)) {
		t.Errorf("moved in time, yet: %s", LeadersText(s.events))
	}
	s.events = slices.DeleteFunc(s.events, func(e Event) bool { return e.Kind == LeaderChanged && strings.HasPrefix(e.Node, "cp-new") })
	if LeaderMovedFirst(s.events) {
		t.Error("the leader was told to go and nobody noticed")
	}
	if LeaderMovedFirst(nil) {
		t.Error("nothing left, so nothing can be said")
	}
}
