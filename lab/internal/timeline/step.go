package timeline

import (
	"fmt"
	"strings"
	"time"
)

// checkStep wants the member told to go while its Machine waits for nothing but pre-terminate hooks. The API server
// dates the steps of a Machine to the second. Where a step and the call fall into the same second it is not told which
// came first, and that is left open: a call that comes too early comes a drain too early.
func checkStep(events []Event, d Departure) Finding {
	f := Finding{Rule: RuleStep, Subject: d.Machine}
	if len(d.Calls) == 0 {
		f.Measured = "no member call seen"
		return f
	}
	steps := []Event{{Object: "none"}}
	for _, e := range events {
		if e.Kind == MachineStep && e.Machine == d.Machine {
			steps = append(steps, e)
		}
	}
	var possible []string
	var doubt time.Duration
	for i := range steps {
		ok, open := atStep(steps, i, d.Calls[0])
		if !ok {
			continue
		}
		possible = append(possible, steps[i].Object)
		if steps[i].Object == stepBeforeTerminate {
			f.OK, doubt = open <= stampUnit, open
		}
	}
	f.Measured = "reason at the call: " + strings.Join(possible, " or ")
	switch {
	case f.OK && len(possible) > 1:
		f.Measured = fmt.Sprintf("reason at the call: %s, to within %s", stepBeforeTerminate, round(doubt))
	case doubt > stampUnit:
		f.Measured = "could not be told: the member was called " + d.Calls[0].moment() + ", " + f.Measured
	default:
		// It was that one, or another, for certain.
	}
	return f
}

// atStep tells whether the Machine can have been at a step when its member was called, and how far the call may lie
// before the step's beginning or beyond its end all the same. The first step was there before all others.
func atStep(steps []Event, i int, call Event) (possible bool, open time.Duration) {
	if i > 0 {
		switch compare(steps[i], call) {
		case after:
			return false, 0
		case untold:
			open = steps[i].At.Sub(call.earliest())
		case before:
			// It had begun.
		}
	}
	if i+1 < len(steps) {
		switch compare(steps[i+1], call) {
		case before:
			return false, 0
		case untold:
			open = max(open, call.At.Sub(steps[i+1].earliest()))
		case after:
			// It had not ended.
		}
	}
	return true, open
}
