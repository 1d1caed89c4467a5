package timeline

import (
	"slices"
	"strings"
	"time"
)

// checkStep wants the member told to go while its Machine waits for nothing but pre-terminate hooks. The API server
// dates the steps of a Machine to the second. Where a step and the call fall into the same second it is not told which
// came first, and that is left open: a call that comes too early comes a drain too early.
func checkStep(events []Event, d Departure) Finding {
	f := Finding{Rule: "member call only in WaitingForPreTerminateHook", Subject: d.Machine}
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
	possible, doubt := stepsAt(steps, d.Calls[0])
	var names []string
	for _, step := range possible {
		names = append(names, step.Object)
	}
	i := slices.IndexFunc(possible, func(e Event) bool { return e.Object == stepBeforeTerminate })
	f.Measured = "reason at the call: " + strings.Join(names, " or ")
	switch {
	case i < 0:
		// It was another one for certain.
	case doubt > stampUnit:
		f.Measured = untoldText(d.Calls[0], "the Machine waits for hooks since", possible[i])
	default:
		f.OK = true
		if doubt > 0 {
			f.Measured = "reason at the call: " + stepBeforeTerminate + ", to within " + round(doubt)
		}
	}
	return f
}

// stepsAt returns the steps that a Machine may have been at when its member was called, and how long the time is for
// which that is not told. The first step has no time: it was there before all others.
func stepsAt(steps []Event, call Event) (possible []Event, doubt time.Duration) {
	for i, step := range steps {
		begun, ended := before, after
		if i > 0 {
			begun = compare(step, call)
		}
		if i+1 < len(steps) {
			ended = compare(steps[i+1], call)
		}
		if begun == after || ended == before {
			continue
		}
		possible = append(possible, step)
		if begun == untold {
			doubt = max(doubt, step.At.Sub(call.earliest()))
		}
		if ended == untold {
			doubt = max(doubt, call.At.Sub(steps[i+1].earliest()))
		}
	}
	return possible, doubt
}
