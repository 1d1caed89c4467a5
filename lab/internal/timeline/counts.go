package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// MostServers is the largest number of server Machines that existed at one time.
func MostServers(events []Event) int {
	present := map[string]bool{}
	most := 0
	for _, e := range events {
		switch {
		case e.Kind == MachineCreated && e.Role == Server:
			present[e.Machine] = true
		case e.Kind == MachineGone:
			delete(present, e.Machine)
		}
		most = max(most, len(present))
	}
	return most
}

// ServersCreated counts the server Machines that were ever created.
func ServersCreated(events []Event) int {
	created := map[string]bool{}
	for _, e := range events {
		if e.Kind == MachineCreated && e.Role == Server {
			created[e.Machine] = true
		}
	}
	return len(created)
}

// LongestGap is the longest silence of a client that was worth an event, without the time in which it was excused.
func LongestGap(events []Event, client string, excused ...Stretch) time.Duration {
	var longest time.Duration
	for _, e := range events {
		if e.Kind != ClientGap || e.Object != client {
			continue
		}
		gap := e.At.Sub(e.Since)
		for _, s := range excused {
			gap -= max(0, minTime(e.At, s.To).Sub(maxTime(e.Since, s.From)))
		}
		longest = max(longest, gap)
	}
	return longest
}

// Stretch is a piece of time.
type Stretch struct{ From, To time.Time }

// FewestVoters is the smallest number of voting members from a moment on.
func FewestVoters(events []Event, from time.Time) int {
	voters := map[string]bool{}
	fewest := -1
	for _, e := range events {
		if fewest < 0 && e.At.After(from) {
			fewest = len(voters)
		}
		switch e.Kind {
		case MemberAdded:
			if e.Detail == "voter" {
				voters[e.Object] = true
			}
		case MemberVoter:
			voters[e.Object] = true
		case MemberGone:
			delete(voters, e.Object)
		default:
			// Only the member list counts.
		}
		if fewest >= 0 {
			fewest = min(fewest, len(voters))
		}
	}
	return max(fewest, 0)
}

// StampedRemovals counts the members that went, and for how many of them a member's own log tells when.
func StampedRemovals(events []Event) (stamped, gone int) {
	for _, e := range dated(events) {
		if e.Kind != MemberGone {
			continue
		}
		gone++
		if e.Since.Equal(e.At) {
			stamped++
		}
	}
	return stamped, gone
}

// LeaderMovedFirst reports whether no member was the leader, as far as seen, when it was told to go.
func LeaderMovedFirst(events []Event) bool {
	departures := Departures(events)
	if len(departures) == 0 {
		return false
	}
	for _, d := range departures {
		if len(d.Calls) == 0 {
			return false
		}
		leader := ""
		for _, e := range events {
			// The leader is polled beside the member list, so a change found in the same look as the removal came first.
			if e.Kind == LeaderChanged && e.earliest().Before(d.Calls[0].At) {
				leader = e.Node
			}
		}
		if leader == d.Node {
			return false
		}
	}
	return true
}

// LeadersText words the changes of leadership and the member calls in their order.
func LeadersText(events []Event) string {
	events = dated(events)
	calls := map[time.Time]string{}
	for _, d := range Departures(events) {
		for _, c := range d.Calls {
			calls[c.At] = d.Node
		}
	}
	var parts []string
	for _, e := range events {
		if e.Kind == LeaderChanged {
			parts = append(parts, fmt.Sprintf("%s leads at %s", e.Node, clock(e.At)))
		}
		if node, ok := calls[e.At]; ok && (e.Kind == NodeRemoveAsked || e.Kind == MemberGone) && e.Node == node {
			parts = append(parts, fmt.Sprintf("%s told to go by %s", node, clock(e.At)))
		}
	}
	return strings.Join(slices.Compact(parts), ", ")
}
