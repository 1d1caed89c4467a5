package report

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// What the schema of the status allows.
const (
	mostPending = 100
	mostReasons = 32
)

// rollout tells which servers are to be replaced and why, whether or not that
// goes on now. It is nil when nothing is to be told: the status then has no
// such field.
func (r reporter) rollout() *controlplanev1.RolloutStatus {
	out := &controlplanev1.RolloutStatus{}
	for _, name := range r.Order {
		m, ok := r.Snapshot.MachineByName(name)
		if !ok || m.UpToDate() || len(out.Pending) == mostPending {
			continue
		}
		reasons := slices.Clone(m.Outdated)
		out.Pending = append(out.Pending, controlplanev1.PendingReplacement{Machine: name, Reasons: reasons[:min(len(reasons), mostReasons)]})
	}
	if len(out.Pending) > 0 {
		for _, w := range r.Held {
			out.Held = append(out.Held, w.Message)
		}
	}
	if next := r.nextTime(); !next.IsZero() {
		// The API keeps whole seconds.
		out.NextTime = metav1.NewTime(next.Truncate(time.Second))
	}
	if len(out.Pending) == 0 && out.NextTime.IsZero() {
		return nil
	}
	return out
}

// nextTime is when the next server that is as wanted no longer is, by the time
// alone.
func (r reporter) nextTime() time.Time {
	var first time.Time
	for _, m := range r.Snapshot.Machines {
		if m.Deleting || !m.UpToDate() || m.OutdatedAt.IsZero() {
			continue
		}
		if first.IsZero() || m.OutdatedAt.Before(first) {
			first = m.OutdatedAt
		}
	}
	return first
}
