package timeline

import (
	"slices"
	"time"
)

// Figure is one measured value with its bound.
type Figure struct {
	Name, Value, Limit string
	OK                 bool
}

// AtMost makes a Figure of a duration and its bound.
func AtMost(name string, value, limit time.Duration) Figure {
	return Figure{Name: name, Value: round(value), Limit: "≤ " + round(limit), OK: value <= limit}
}

// HookTimes are the stretches from "only our hook is left" to "hook released" of all departed servers, as observed.
func HookTimes(events []Event, hook string) []time.Duration {
	var out []time.Duration
	waiting := map[string]time.Time{}
	for _, e := range events {
		switch {
		case e.Kind == MachineStep && e.Object == stepBeforeTerminate:
			if _, known := waiting[e.Machine]; !known {
				waiting[e.Machine] = e.At
			}
		case e.Kind == HookReleased && e.Object == hook:
			if from, known := waiting[e.Machine]; known {
				out = append(out, e.At.Sub(from))
				delete(waiting, e.Machine)
			}
		}
	}
	return out
}

// Median is the middle value, 0 when there is none.
func Median(values []time.Duration) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}
