package report

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

// progress are the conditions that say what changes, and what holds it up.
// Every wait and failure stands in at least one of them.
func (r reporter) progress() []metav1.Condition {
	held := r.held()
	rolling, up, down, deleting := r.rollingOut(held), r.scalingUp(held), r.scalingDown(held), r.deleting(held)
	if len(held) > 0 && !anyTrue(rolling, up, down, deleting) {
		// Nothing grows, shrinks or rolls, and still something is to be done:
		// a broken spec, an orphan member, a Machine that somebody deleted.
		rolling.Message = "Not rolling out, and held up:\n" + list(held)
	}
	return []metav1.Condition{rolling, up, down, deleting}
}

func anyTrue(conditions ...metav1.Condition) bool {
	return slices.ContainsFunc(conditions, func(c metav1.Condition) bool { return c.Status == metav1.ConditionTrue })
}

// held are the reasons why nothing, or not everything, goes on.
func (r reporter) held() []string {
	var out []string
	for _, w := range r.Decision.Waits {
		out = append(out, WaitText(w))
	}
	return append(out, r.Failures...)
}

// withHeld appends the reasons to a message.
func withHeld(message string, held []string) string {
	if len(held) == 0 {
		return message
	}
	return message + ":\n" + list(held)
}

func (r reporter) rollingOut(held []string) metav1.Condition {
	const kind = controlplanev1.RollingOutCondition
	reasons := map[string][]string{}
	var order []string
	outdated := 0
	for _, m := range r.Snapshot.Machines {
		if m.UpToDate() {
			continue
		}
		outdated++
		for _, reason := range m.Outdated {
			if reasons[reason] == nil {
				order = append(order, reason)
			}
			reasons[reason] = append(reasons[reason], m.Name)
		}
	}
	if outdated == 0 || r.Snapshot.ControlPlane.Deleting {
		return no(kind, controlplanev1.NotRollingOutReason, "")
	}
	slices.Sort(order)
	lines := make([]string, 0, len(order))
	for _, reason := range order {
		lines = append(lines, fmt.Sprintf("%s (%s)", reason, strings.Join(reasons[reason], ", ")))
	}
	message := fmt.Sprintf("Rolling out %d of %d Machines that are not up to date:\n%s", outdated, len(r.Snapshot.Machines), list(lines))
	if len(held) > 0 {
		message += "\nHeld up:\n" + list(held)
	}
	return yes(kind, controlplanev1.RollingOutReason, message)
}

// scalingUp counts the Machines that stay: one that was deleted has to be
// replaced, and that is a scaling up.
func (r reporter) scalingUp(held []string) metav1.Condition {
	const kind = controlplanev1.ScalingUpCondition
	staying, wished := 0, r.Snapshot.ControlPlane.Replicas
	for _, m := range r.Snapshot.Machines {
		if !m.Deleting {
			staying++
		}
	}
	if r.Snapshot.ControlPlane.Deleting || staying >= wished {
		message := ""
		if t := r.Snapshot.Cluster.Template; t.Known && !t.Value && !r.Snapshot.ControlPlane.Deleting {
			message = fmt.Sprintf("Scaling up would be blocked: infrastructure template %s does not exist", r.Snapshot.Cluster.TemplateName)
		}
		return no(kind, controlplanev1.NotScalingUpReason, message)
	}
	return yes(kind, controlplanev1.ScalingUpReason, withHeld(fmt.Sprintf("Scaling up from %d to %d servers", staying, wished), held))
}

// scalingDown counts all Machines: those being deleted are still there.
func (r reporter) scalingDown(held []string) metav1.Condition {
	const kind = controlplanev1.ScalingDownCondition
	wished := r.Snapshot.ControlPlane.Replicas
	if r.Snapshot.ControlPlane.Deleting {
		wished = 0
	}
	if len(r.Snapshot.Machines) <= wished {
		return no(kind, controlplanev1.NotScalingDownReason, "")
	}
	message := fmt.Sprintf("Scaling down from %d to %d servers", len(r.Snapshot.Machines), wished)
	return yes(kind, controlplanev1.ScalingDownReason, withHeld(message, held))
}

func (r reporter) deleting(held []string) metav1.Condition {
	const kind = controlplanev1.DeletingCondition
	if !r.Snapshot.ControlPlane.Deleting {
		return no(kind, controlplanev1.NotDeletingReason, "")
	}
	var names []string
	for _, m := range r.Snapshot.Machines {
		names = append(names, m.Name)
	}
	switch {
	case len(names) == 0 && len(held) == 0:
		return yes(kind, controlplanev1.DeletionCompletedReason, "")
	case r.Snapshot.Cluster.Workers > 0:
		message := fmt.Sprintf("Waiting for %d workers to be deleted", r.Snapshot.Cluster.Workers)
		return yes(kind, controlplanev1.WaitingForWorkersDeletionReason, withHeld(message, held))
	default:
		message := "Waiting for Machines to be deleted: " + strings.Join(names, ", ")
		return yes(kind, controlplanev1.WaitingForMachineDeletionReason, withHeld(message, held))
	}
}

// WaitText writes a wait for people: what is waited for, under which rule,
// for what, and what would end it.
func WaitText(w model.Wait) string {
	var b strings.Builder
	b.WriteString(w.Message)
	fmt.Fprintf(&b, " [rule %s", w.Rule)
	for i, blocker := range w.Blockers {
		separator := "; held up by "
		if i > 0 {
			separator = ", "
		}
		fmt.Fprintf(&b, "%s%s %s", separator, blocker.Kind, blocker.Name)
		if blocker.Unblock != "" {
			fmt.Fprintf(&b, ": %s", blocker.Unblock)
		}
	}
	b.WriteString("]")
	return b.String()
}
