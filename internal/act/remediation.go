package act

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
)

// recordRemediation notes on the control plane that a server is being replaced,
// before its Machine is deleted. A crash between the two leaves a record of a
// Machine that stays: the next attempt finds its own record, and upkeep takes
// it away when the Machine is healthy again.
func (a *Actor) recordRemediation(ctx context.Context, s *scope.Scope, act model.DeleteMachine) error {
	cp, err := a.liveControlPlane(ctx, s)
	if err != nil {
		return err
	}
	retry := act.Retry
	if before, ok := desired.RemediationInProgress(cp); ok {
		if before.Machine == act.Machine {
			return nil
		}
		// The replacement of another one is still to come. One record stands for
		// both, with the longer row of the two.
		retry = max(retry, before.RetryCount)
	}
	return a.annotateControlPlane(ctx, cp, controlplanev1.RemediationInProgressAnnotation, desired.RemediationRecord(controlplanev1.LastRemediationStatus{
		Machine: act.Machine, Timestamp: metav1.NewTime(a.Now()), RetryCount: retry,
	}))
}

// replacementFor is the record that the next server carries, empty when it
// replaces no unhealthy one or another Machine was made for that already. The
// record on the control plane is taken away by upkeep, after the Machine shows
// it.
func (a *Actor) replacementFor(ctx context.Context, s *scope.Scope, cp *controlplanev1.RKE2ControlPlane) (string, error) {
	record, ok := desired.RemediationInProgress(cp)
	if !ok {
		return "", nil
	}
	machines, err := a.liveMachines(ctx, s)
	if err != nil {
		return "", err
	}
	if victim, there := machines[record.Machine]; there && victim.DeletionTimestamp.IsZero() {
		return "", nil // it was not deleted in the end
	}
	if desired.Served(record, machines) {
		return "", nil
	}
	return desired.RemediationRecord(record), nil
}
