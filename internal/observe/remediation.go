package observe

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/desired"
)

func remediationPolicy(cp *controlplanev1.RKE2ControlPlane) model.RemediationPolicy {
	var out model.RemediationPolicy
	most, retry, healthy := cp.Spec.RemediationOrDefault()
	if most != nil {
		n := int(*most)
		out.MaxRetry = &n
	}
	out.RetryPeriod, out.MinHealthyPeriod = retry, healthy
	out.SingleServer = cp.Annotations[controlplanev1.RemediateSingleServerAnnotation] == "true"
	out.InProgress = remediation(desired.RemediationInProgress(cp))
	return out
}

// mark is what a MachineHealthCheck says, nil when it wants nothing.
func mark(m *clusterv1.Machine) *model.Mark {
	if !desired.Marked(m) {
		return nil
	}
	failed := conditions.Get(m, clusterv1.MachineHealthCheckSucceededCondition)
	_, first := m.Annotations[clusterv1.RemediateMachineAnnotation]
	return &model.Mark{Since: failed.LastTransitionTime.Time, Why: failed.Message, First: first}
}

func remediation(r controlplanev1.LastRemediationStatus, ok bool) *model.Remediation {
	if !ok {
		return nil
	}
	return &model.Remediation{Machine: r.Machine, At: r.Timestamp.Time, Retry: r.RetryCount}
}
