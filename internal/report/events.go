package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drover-project/drover/internal/model"
)

// Event is one event about the control plane. All are of type Normal or
// Warning.
type Event struct {
	// Warning is true when somebody has to do something.
	Warning bool
	// Reason is one word in camel case.
	Reason string
	// Machine is the Machine concerned, empty for the control plane itself.
	Machine string
	// Note is the text.
	Note string
}

// WaitingEvent is the reason of the event for a wait that began.
const WaitingEvent = "Waiting"

// maxNote is the most that the events API takes as text.
const maxNote = 1024

// WaitEvents are the events for the waits that were not there before. Waits
// count as the same when rule, Machine and blockers are, so that a number in
// the text is no news.
func WaitEvents(before, now model.Decision) []Event {
	known := map[string]bool{}
	for _, w := range before.Waits {
		known[identity(w)] = true
	}
	var out []Event
	for _, w := range now.Waits {
		if known[identity(w)] {
			continue
		}
		note := stable(WaitText(w))
		if len(note) > maxNote {
			note = note[:maxNote-3] + "..."
		}
		out = append(out, Event{Reason: WaitingEvent, Machine: w.Machine, Note: note})
	}
	return out
}

func identity(w model.Wait) string {
	var blockers []string
	for _, b := range w.Blockers {
		blockers = append(blockers, b.Kind+"/"+b.Name)
	}
	slices.Sort(blockers)
	return fmt.Sprintf("%s|%s|%s", w.Rule, w.Machine, strings.Join(blockers, ","))
}
