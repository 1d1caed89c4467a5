package controlplane

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/findingtest"
)

func strategyOf(surge int32) *controlplanev1.RolloutStrategy {
	return &controlplanev1.RolloutStrategy{RollingUpdate: &controlplanev1.RollingUpdate{MaxSurge: ptr.To(intstr.FromInt32(surge))}}
}

// Both shapes of a setting are taken; only where they differ is it not known
// what is meant.
func TestTwoShapesOfASetting(t *testing.T) {
	remediation := func(old controlplanev1.RemediationStrategy, given controlplanev1.RemediationSpec) func(*controlPlane) {
		return func(cp *controlPlane) { cp.Spec.RemediationStrategy, cp.Spec.Remediation = &old, given }
	}
	rollout := func(old, given *controlplanev1.RolloutStrategy) func(*controlPlane) {
		return func(cp *controlPlane) { cp.Spec.RolloutStrategy, cp.Spec.Rollout.Strategy = old, given }
	}
	restarted := func(at string) func(*controlPlane) {
		return func(cp *controlPlane) {
			cp.Annotations = map[string]string{controlplanev1.RestartedAtAnnotation: at}
		}
	}
	for name, c := range map[string]struct {
		change func(*controlPlane)
		want   want
	}{
		"strategy in the field's shape": {change: rollout(nil, strategyOf(0))},
		"the type of the other":         {change: rollout(&controlplanev1.RolloutStrategy{Type: "RollingUpdate"}, strategyOf(0))},
		"the same twice":                {change: rollout(strategyOf(0), strategyOf(0))},
		"two surges": {change: rollout(strategyOf(1), strategyOf(0)), want: want{Errors: []string{
			`spec.rollout.strategy.rollingUpdate.maxSurge: Invalid value: "0": spec.rolloutStrategy.rollingUpdate.maxSurge says 1 for the same setting: give it in one of the two`}}},
		"surge 2": {change: rollout(nil, strategyOf(2)), want: want{Errors: []string{"spec.rollout.strategy.rollingUpdate.maxSurge: Invalid value: 2: maxSurge must be 0 or 1"}}},
		"another way": {change: rollout(nil, &controlplanev1.RolloutStrategy{Type: "OnDelete"}), want: want{Errors: []string{
			`spec.rollout.strategy.type: Invalid value: "OnDelete": the type of a rollout must be RollingUpdate`}}},
		"surge 0 with 1 server": {change: func(cp *controlPlane) { rollout(nil, strategyOf(0))(cp); replicas(1)(cp) }, want: want{Errors: []string{
			"spec.rollout.strategy.rollingUpdate.maxSurge: Invalid value: 0: maxSurge 0 needs replicas of at least 3"}}},

		"remediation in the field's shape": {change: remediation(controlplanev1.RemediationStrategy{}, controlplanev1.RemediationSpec{
			MaxRetry: ptr.To[int32](1), RetryPeriodSeconds: ptr.To[int32](60), MinHealthyPeriodSeconds: ptr.To[int32](60)})},
		"remediation, the same twice": {change: remediation(controlplanev1.RemediationStrategy{
			MaxRetry: ptr.To[int32](1), RetryPeriod: metav1.Duration{Duration: time.Minute}, MinHealthyPeriod: &metav1.Duration{Duration: time.Minute},
		}, controlplanev1.RemediationSpec{MaxRetry: ptr.To[int32](1), RetryPeriodSeconds: ptr.To[int32](60), MinHealthyPeriodSeconds: ptr.To[int32](60)})},
		"remediation, all different": {change: remediation(controlplanev1.RemediationStrategy{
			MaxRetry: ptr.To[int32](1), RetryPeriod: metav1.Duration{Duration: time.Minute}, MinHealthyPeriod: &metav1.Duration{Duration: time.Minute},
		}, controlplanev1.RemediationSpec{MaxRetry: ptr.To[int32](2), RetryPeriodSeconds: ptr.To[int32](0), MinHealthyPeriodSeconds: ptr.To[int32](61)}),
			want: want{Errors: []string{
				"spec.remediation.maxRetry: Invalid value: 2: spec.remediationStrategy.maxRetry says 1",
				"spec.remediation.retryPeriodSeconds: Invalid value: 0: spec.remediationStrategy.retryPeriod says 1m0s",
				"spec.remediation.minHealthyPeriodSeconds: Invalid value: 61: spec.remediationStrategy.minHealthyPeriod says 1m0s",
			}}},

		"certificates, a month": {change: func(cp *controlPlane) { cp.Spec.Rollout.Before.CertificatesExpiryDays = ptr.To[int32](30) }},
		"certificates, a year": {change: func(cp *controlPlane) { cp.Spec.Rollout.Before.CertificatesExpiryDays = ptr.To[int32](365) },
			want: want{Warnings: []string{"spec.rollout.before.certificatesExpiryDays: certificates that RKE2 makes are valid for 365 days"}}},
		"restart":    {change: restarted("2026-03-09T09:00:00Z")},
		"no restart": {change: restarted("now"), want: want{Warnings: []string{`metadata.annotations[cluster.x-k8s.io/restartedAt]: "now" is no time, so no server is replaced`}}},
	} {
		t.Run(name, func(t *testing.T) { findingtest.Check(t, Validate(nil, valid(c.change), false), c.want) })
	}
}
