package timeline

import (
	"cmp"
	"slices"
	"time"
)

// Departure is a server that was told to go, with what was seen of it.
type Departure struct {
	Machine, Node string
	Deleting      Event
	// Calls are the moments at which its member was told to go: the annotation that asks RKE2 for it, or, when there
	// was none, the disappearance of the member (somebody then called etcd directly).
	Calls []Event
	Gone  bool
}

// Departures finds the servers that left or are leaving, in the order in which they were deleted.
func Departures(events []Event) []Departure {
	events = dated(events)
	nodes := map[string]string{}
	servers := map[string]bool{}
	var out []Departure
	for _, e := range events {
		switch e.Kind {
		case MachineCreated:
			servers[e.Machine] = e.Role == Server
		case MachineJoined:
			nodes[e.Machine] = e.Node
		case MachineDeleting:
			if servers[e.Machine] {
				out = append(out, Departure{Machine: e.Machine, Deleting: e})
			}
		default:
			// The rest is looked up per departure.
		}
	}
	for i := range out {
		out[i].Node = cmp.Or(nodes[out[i].Machine], out[i].Machine)
		out[i].Calls = memberCalls(events, out[i].Node)
		out[i].Gone = slices.ContainsFunc(events, func(e Event) bool {
			return e.Kind == MachineGone && e.Machine == out[i].Machine
		})
	}
	return out
}

// watchLag is how much later than the removal the watch may tell of an annotation that came first and has no stamp.
const watchLag = 2 * time.Second

// memberCalls applies the definition of a member call. RKE2 itself removes the member after the annotation, so that
// removal is the effect of the call and no second one; a removal without annotation is a direct call.
func memberCalls(events []Event, node string) []Event {
	var asked, gone []Event
	for _, e := range events {
		if e.Node != node {
			continue
		}
		switch e.Kind {
		case NodeRemoveAsked:
			asked = append(asked, e)
		case MemberGone:
			gone = append(gone, e)
		default:
			// Nothing else tells of a call.
		}
	}
	direct := slices.DeleteFunc(gone, func(g Event) bool {
		return slices.ContainsFunc(asked, func(a Event) bool {
			if a.Written.IsZero() {
				return a.At.Before(g.At.Add(watchLag))
			}
			return compare(a, g) != after
		})
	})
	calls := slices.Concat(asked, direct)
	slices.SortStableFunc(calls, func(a, b Event) int { return a.At.Compare(b.At) })
	return calls
}
