package report

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

// remediating tells which servers a MachineHealthCheck wants replaced, and
// where their replacement stands.
func (r reporter) remediating() metav1.Condition {
	const kind = controlplanev1.RemediatingCondition
	var lines []string
	for _, m := range r.Snapshot.Machines {
		if m.Unhealthy == nil {
			continue
		}
		wait, held := r.remediationWait(m.Name)
		switch {
		case m.Deleting:
			lines = append(lines, fmt.Sprintf("Machine %s is being deleted to be replaced", m.Name))
		case held:
			lines = append(lines, WaitText(wait))
		default:
			lines = append(lines, fmt.Sprintf("Machine %s is to be replaced", m.Name))
		}
	}
	if record := r.Snapshot.ControlPlane.Remediation.InProgress; record != nil && !r.Snapshot.ControlPlane.Deleting {
		if _, there := r.Snapshot.MachineByName(record.Machine); !there {
			lines = append(lines, fmt.Sprintf("Machine %s is gone and its replacement is not made yet", record.Machine))
		}
	}
	if len(lines) == 0 {
		return no(kind, controlplanev1.NotRemediatingReason, "")
	}
	return yes(kind, controlplanev1.RemediatingReason, list(lines))
}

// remediationWait is what an unhealthy Machine waits for that nobody deleted.
func (r reporter) remediationWait(machine string) (model.Wait, bool) {
	for _, w := range r.Decision.Waits {
		if w.Machine == machine {
			return w, true
		}
	}
	return model.Wait{}, false
}

// ownerRemediated is the owner's answer to a MachineHealthCheck. The check sets
// the condition and reads it again; nothing is said about a Machine that it has
// not marked.
func (r reporter) ownerRemediated(m *clusterv1.Machine, seen model.Machine) (metav1.Condition, bool) {
	const kind = clusterv1.MachineOwnerRemediatedCondition
	if seen.Unhealthy == nil {
		return metav1.Condition{}, false
	}
	if seen.Deleting {
		return no(kind, controlplanev1.MachineRemediationMachineDeletingReason, "The Machine is being deleted, and a new one is made in its place"), true
	}
	wait, held := r.remediationWait(m.Name)
	switch {
	case !held:
		return *conditions.Get(m, kind), true
	case wait.Operator:
		return no(kind, controlplanev1.MachineCannotBeRemediatedReason, WaitText(wait)), true
	default:
		return no(kind, controlplanev1.MachineRemediationDeferredReason, WaitText(wait)), true
	}
}

// lastRemediation is the latest replacement on record: the one in progress, or
// one that a server was made for, or what the status says already.
func (r reporter) lastRemediation() *controlplanev1.LastRemediationStatus {
	last := r.ControlPlane.Status.LastRemediation
	consider := func(record *model.Remediation) {
		if record != nil && (last == nil || last.Timestamp.Time.Before(record.At)) {
			last = &controlplanev1.LastRemediationStatus{Machine: record.Machine, Timestamp: metav1.NewTime(record.At), RetryCount: record.Retry}
		}
	}
	consider(r.Snapshot.ControlPlane.Remediation.InProgress)
	for i := range r.Snapshot.Machines {
		consider(r.Snapshot.Machines[i].RemediationFor)
	}
	return last
}
