package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drover-project/drover/internal/model"
)

// Event is one event about the control plane, of type Normal.
type Event struct {
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

// Begun is a wait that was not there before.
type Begun struct {
	Event
	// Rule is the rule that waits.
	Rule string
}

// WaitEvents are the waits that were not there before, each with its event.
// Waits count as the same when rule, Machine and blockers are, so that a number
// in the text is no news.
func WaitEvents(before, now model.Decision) []Begun {
	known := map[string]bool{}
	for _, w := range before.Waits {
		known[identity(w)] = true
	}
	var out []Begun
	for _, w := range now.Waits {
		if known[identity(w)] {
			continue
		}
		out = append(out, Begun{Event: Event{Reason: WaitingEvent, Machine: w.Machine, Note: Note(WaitText(w))}, Rule: w.Rule})
	}
	return out
}

// Note cuts a text to the length that an event takes.
func Note(text string) string {
	text = stable(text)
	if len(text) > maxNote {
		return text[:maxNote-3] + "..."
	}
	return text
}

func identity(w model.Wait) string {
	var blockers []string
	for _, b := range w.Blockers {
		blockers = append(blockers, b.Kind+"/"+b.Name)
	}
	slices.Sort(blockers)
	return fmt.Sprintf("%s|%s|%s", w.Rule, w.Machine, strings.Join(blockers, ","))
}
