package act

import (
	corev1 "k8s.io/api/core/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/scope"
)

// RefusedEvent is the reason of the event for an action that was not carried
// out because its ground is gone.
const RefusedEvent = "ActionRefused"

// FailedActionEvent is the reason of the event for a failed action that has no
// reason of its own.
const FailedActionEvent = "ActionFailed"

// maxNote is the most that the events API takes as text.
const maxNote = 1024

// report writes one event for the outcome of an action.
func (a *Actor) report(s *scope.Scope, action model.Action, err error) {
	kind, reason, note := corev1.EventTypeNormal, model.KindOf(action), action.Describe()
	switch {
	case IsRefused(err):
		reason, note = RefusedEvent, note+": "+err.Error()
	case err != nil:
		kind, reason, note = corev1.EventTypeWarning, failure(action, s.ControlPlane), note+": "+err.Error()
	}
	if len(note) > maxNote {
		note = note[:maxNote-3] + "..."
	}
	a.Recorder.Eventf(s.ControlPlane, nil, kind, reason, model.KindOf(action), "%s", note)
}

// failure keeps the event reasons that people watch for already.
func failure(action model.Action, cp *controlplanev1.RKE2ControlPlane) string {
	switch act := action.(type) {
	case model.CreateMachine:
		if act.Purpose == model.First {
			return controlplanev1.FailedInitializationEvent
		}
		return controlplanev1.FailedScaleUpEvent
	case model.DeleteMachine:
		if !cp.DeletionTimestamp.IsZero() {
			return controlplanev1.FailedDeleteEvent
		}
		return controlplanev1.FailedScaleDownEvent
	case model.DropHooks, model.FinishDeletion:
		return controlplanev1.FailedDeleteEvent
	default:
		return FailedActionEvent
	}
}
