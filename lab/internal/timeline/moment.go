package timeline

import (
	"slices"
	"time"
)

// stampUnit is the resolution of the time stamps that the API server puts on what it writes.
const stampUnit = time.Second

// earliest is the first moment at which the change may have happened.
func (e Event) earliest() time.Time {
	if e.Since.IsZero() {
		return e.At
	}
	return e.Since
}

// moment words when a change happened.
func (e Event) moment() string {
	if from := e.earliest(); from.Before(e.At) {
		return "between " + clock(from) + " and " + clock(e.At)
	}
	return "at " + clock(e.At)
}

// order is what can be said about two changes.
type order int

const (
	// untold means that either may have been the first.
	untold order = iota
	before
	// after includes one write that did both.
	after
)

// compare tells whether a happened before or after b, for certain: by revision when both carry one, else by the
// stretches of time in which they happened.
func compare(a, b Event) order {
	known := a.Revision != 0 && b.Revision != 0
	switch {
	case known && a.Revision < b.Revision:
		return before
	case known:
		return after
	case a.At.Before(b.earliest()):
		return before
	case b.At.Before(a.earliest()):
		return after
	default:
		return untold
	}
}

// dated returns the events in the order of time, each with the narrowest stretch [Since, At] in which it can have
// happened. An observation is late when the computer is busy, so what the parts themselves put down is taken where
// there is something: etcd's own log for the removal of a member, the API server's stamp for a write, and for what has
// none, such as a deletion, the stamps of the writes to the same cluster that came before and after it.
func dated(events []Event) []Event {
	events = slices.Clone(events)
	stamped := stampsOf(events)
	for i := range events {
		e := &events[i]
		switch {
		case e.Kind == LeaseRenewed:
			// At is the kubelet's own time.
		case e.Kind == MemberGone:
			dateRemoval(e, events)
		case !e.Written.IsZero():
			e.Since = maxTime(e.Since, e.Written)
			e.At = minTime(e.At, e.Written.Add(stampUnit))
		case e.Revision != 0:
			stamped.date(e)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	return events
}

// dateRemoval takes the time from the first member that applied the removal. A member that joins later applies it
// again, long after it was gone from the list.
func dateRemoval(gone *Event, events []Event) {
	from := gone.Since
	for _, e := range events {
		if e.Kind == MemberRemoved && e.Object == gone.Object && !e.At.Before(from) && !e.At.After(gone.At) {
			gone.Since, gone.At = e.At, e.At
		}
	}
}

// stamp says that the write of a revision was done at from or later and before until.
type stamp struct {
	revision    int64
	from, until time.Time
}

type stamps []stamp

func stampsOf(events []Event) stamps {
	var out stamps
	for _, e := range events {
		if e.Revision == 0 || e.Written.IsZero() {
			continue
		}
		s := stamp{revision: e.Revision, from: e.Written, until: e.Written.Add(stampUnit)}
		if e.Kind == LeaseRenewed {
			// The kubelet put its time into the Lease before it sent it.
			s.from = maxTime(s.from, e.At)
		}
		out = append(out, s)
	}
	return out
}

// date narrows the time of a change by the writes before and after it.
func (s stamps) date(e *Event) {
	since := e.Since
	for _, other := range s {
		switch {
		case other.revision <= e.Revision:
			since = maxTime(since, other.from)
		default:
			e.At = minTime(e.At, other.until)
		}
	}
	// Without anything before it, the observation is all there is.
	if since.Before(e.At) {
		e.Since = since
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
