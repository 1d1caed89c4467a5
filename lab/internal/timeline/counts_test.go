package timeline

import (
	"slices"
	"strings"
	"testing"
	"time"
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

func TestLongestGapWithoutWhatIsExcused(t *testing.T) {
	events := []Event{
		{Kind: ClientGap, Object: "writer", Since: at(0), At: at(2)},
		{Kind: ClientGap, Object: "writer", Since: at(9), At: at(73)},
		{Kind: ClientGap, Object: "reader", Since: at(0), At: at(90)},
	}
	for name, tc := range map[string]struct {
		excused []Stretch
		want    time.Duration
	}{
		"nothing":        {nil, 64 * time.Second},
		"the middle":     {[]Stretch{{at(10), at(70)}}, 4 * time.Second},
		"more than that": {[]Stretch{{at(5), at(80)}}, 2 * time.Second},
		"something else": {[]Stretch{{at(100), at(200)}}, 64 * time.Second},
	} {
		if got := LongestGap(events, "writer", tc.excused...); got != tc.want {
			t.Errorf("%s is excused: %s, want %s", name, got, tc.want)
		}
	}
}

func TestServersCreated(t *testing.T) {
	events := []Event{
		{Kind: MachineCreated, Machine: "a", Role: Server}, {Kind: MachineCreated, Machine: "a", Role: Server},
		{Kind: MachineCreated, Machine: "w", Role: Worker}, {Kind: MachineCreated, Machine: "b", Role: Server}, {Kind: MachineGone, Machine: "b"},
	}
	if got := ServersCreated(events); got != 2 {
		t.Errorf("%d servers", got)
	}
}
