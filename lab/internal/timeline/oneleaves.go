package timeline

// checkOneAtATime wants no member call of one server between deletion and departure of another whose drain began.
func checkOneAtATime(events []Event, departures []Departure) Finding {
	f := Finding{Rule: "one server leaves at a time", Subject: "control plane", OK: true, Measured: "never two beyond the pre-drain hook"}
	leaving := map[string]bool{}
	member := map[string]bool{}
	for _, d := range departures {
		member[d.Machine] = true
	}
	held := lastHeld(events)
	for i, e := range events {
		if !member[e.Machine] {
			continue
		}
		switch e.Kind {
		case MachineStep:
			if begins(e, i > held[e.Machine]) {
				leaving[e.Machine] = true
			}
		case MachineGone:
			delete(leaving, e.Machine)
		default:
			// Only these begin and end a departure.
		}
		if len(leaving) > 1 {
			f.OK = false
			f.Measured = "two at once at " + clock(e.At)
			return f
		}
	}
	return f
}

// lastHeld is where each Machine was said to wait for its pre-drain hooks for the last time.
func lastHeld(events []Event) map[string]int {
	held := map[string]int{}
	for i, e := range events {
		if e.Kind == MachineStep && e.Object == stepBeforeDrain {
			held[e.Machine] = i
		}
	}
	return held
}

// begins tells whether a Machine has begun to leave with a step of its deletion. While every server is being deleted,
// Cluster API's core passes over pre-drain hooks and drain, and comes back to them when there is another one: so the
// wait for the pre-terminate hooks is no beginning as long as the wait for the pre-drain hooks is still to come.
func begins(step Event, notHeldAgain bool) bool {
	switch step.Object {
	case stepBeforeDrain:
		return false
	case stepBeforeTerminate:
		return notHeldAgain
	}
	return phaseOfStep[step.Object] != ""
}
