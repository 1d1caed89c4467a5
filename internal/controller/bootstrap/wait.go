package bootstrap

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// wait says why bootstrap data cannot be made now. It travels as an error, but is none: what it waits for is either
// watched or looked at again after retry.
type wait struct {
	reason, message string
	// certificates is true when it is certificate authorities or the token that are missing.
	certificates bool
	// retry is when to look again at what is not watched; zero when all is.
	retry time.Duration
}

// referenceRetry is when to look again at objects of the user's that are not watched.
const referenceRetry = 30 * time.Second

// Error is the message.
func (w *wait) Error() string { return w.message }

func waitFor(reason, format string, args ...any) *wait {
	return &wait{reason: reason, message: fmt.Sprintf(format, args...)}
}

// lookAgain is for what is not watched.
func (w *wait) lookAgain() *wait {
	w.retry = referenceRetry
	return w
}

// setConditions says what came of a reconcile: data made (neither wait nor error), waiting, or failed.
func setConditions(config *bootstrapv1.RKE2Config, t *target, w *wait, err error) {
	data := metav1.Condition{
		Type: bootstrapv1.DataSecretAvailableCondition, Status: metav1.ConditionTrue,
		Reason: bootstrapv1.DataSecretAvailableReason,
	}
	switch {
	case err != nil:
		data.Status, data.Reason, data.Message = metav1.ConditionFalse, clusterv1.InternalErrorReason, err.Error()
	case w != nil:
		data.Status, data.Reason, data.Message = metav1.ConditionFalse, w.reason, w.message
	}
	ready := data.Status == metav1.ConditionTrue
	t.keepAvailable(&data)
	conditions.Set(config, data)
	setCertificates(config, t, w, err)

	// Data cannot exist without certificates, so DataSecretAvailable says all there is to sum up until they do.
	summary := metav1.Condition{
		Type: bootstrapv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: clusterv1.ReadyReason, Message: data.Message,
	}
	if !ready {
		summary.Status, summary.Reason = metav1.ConditionFalse, clusterv1.NotReadyReason
	}
	if t.boot != nil {
		outcome := t.boot.outcome()
		conditions.Set(config, outcome)
		if ready && outcome.Status == metav1.ConditionFalse {
			summary.Status, summary.Reason, summary.Message = metav1.ConditionFalse, clusterv1.NotReadyReason, outcome.Message
		}
	}
	conditions.Set(config, summary)
}

// setCertificates says whether the certificate authorities and the token were found. A reconcile that did not come to
// look leaves what an earlier one found.
func setCertificates(config *bootstrapv1.RKE2Config, t *target, w *wait, err error) {
	condition := metav1.Condition{Type: bootstrapv1.CertificatesAvailableCondition}
	switch {
	case w == nil && err == nil, t.secretsFound:
		condition.Status, condition.Reason = metav1.ConditionTrue, bootstrapv1.CertificatesAvailableReason
	case w != nil && w.certificates:
		condition.Status, condition.Reason = metav1.ConditionFalse, bootstrapv1.CertificatesNotAvailableReason
		condition.Message = w.message
	case conditions.Has(config, bootstrapv1.CertificatesAvailableCondition):
		return
	default:
		condition.Status, condition.Reason = metav1.ConditionUnknown, conditions.NotYetReportedReason
		condition.Message = "not looked at yet"
	}
	conditions.Set(config, condition)
}
