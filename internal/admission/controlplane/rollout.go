package controlplane

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
)

// certificateDays is how long the certificates RKE2 makes are valid. Replacing
// a server that has just been made gains nothing.
const certificateDays = 365

// rolling checks both places a rollout strategy may stand in, and that they do
// not say different things.
func (s *settings) rolling(l *finding.List, path *field.Path) {
	old, given := path.Child("rolloutStrategy"), path.Child("rollout", "strategy")
	strategy(l, old, s.rolloutStrategy)
	strategy(l, given, s.rollout.Strategy)
	if a, b := maxSurge(s.rolloutStrategy), maxSurge(s.rollout.Strategy); a != nil && b != nil && *a != *b {
		l.Refuse(field.Invalid(maxSurgePath(given), b.String(), differs(maxSurgePath(old), a.String())))
	}
	if days := s.rollout.Before.CertificatesExpiryDays; days != nil && *days >= certificateDays {
		l.Warn(path.Child("rollout", "before", "certificatesExpiryDays"), "certificates that RKE2 makes are valid for %d days, "+
			"so a new server is no better than the one it replaces and none is replaced for this: use a smaller number", certificateDays)
	}
}

func strategy(l *finding.List, path *field.Path, s *controlplanev1.RolloutStrategy) {
	if s == nil {
		return
	}
	if t := s.Type; t != "" && t != controlplanev1.RollingUpdateStrategyType {
		l.Refuse(field.Invalid(path.Child("type"), t, rolloutTypeUnknown))
	}
	surge := maxSurge(s)
	switch at := maxSurgePath(path); {
	case surge == nil:
	case surge.Type != intstr.Int:
		l.Refuse(field.Invalid(at, surge.String(), maxSurgeNoInteger))
	case surge.IntVal != 0 && surge.IntVal != 1:
		l.Refuse(field.Invalid(at, surge.IntVal, maxSurgeOutOfRange))
	}
}

func maxSurge(s *controlplanev1.RolloutStrategy) *intstr.IntOrString {
	if s == nil || s.RollingUpdate == nil {
		return nil
	}
	return s.RollingUpdate.MaxSurge
}

func maxSurgePath(strategy *field.Path) *field.Path {
	return strategy.Child("rollingUpdate", "maxSurge")
}

// remediating checks that remediation and remediationStrategy do not say
// different things.
func (s *settings) remediating(l *finding.List, path *field.Path) {
	old := s.remediationStrategy
	if old == nil {
		return
	}
	oldPath, given := path.Child("remediationStrategy"), path.Child("remediation")
	if a, b := old.MaxRetry, s.remediation.MaxRetry; a != nil && b != nil && *a != *b {
		l.Refuse(field.Invalid(given.Child("maxRetry"), *b, differs(oldPath.Child("maxRetry"), fmt.Sprint(*a))))
	}
	period := func(name string, a *metav1.Duration, b *int32) {
		if a == nil || b == nil || a.Duration == time.Duration(*b)*time.Second {
			return
		}
		l.Refuse(field.Invalid(given.Child(name+"Seconds"), *b, differs(oldPath.Child(name), a.Duration.String())))
	}
	// No period and a period of 0 are the same in the old shape.
	if old.RetryPeriod.Duration != 0 {
		period("retryPeriod", &old.RetryPeriod, s.remediation.RetryPeriodSeconds)
	}
	period("minHealthyPeriod", old.MinHealthyPeriod, s.remediation.MinHealthyPeriodSeconds)
}

// differs is the sentence for a setting that stands in two places.
func differs(other *field.Path, value string) string {
	return fmt.Sprintf("%s says %s for the same setting: give it in one of the two", other, value)
}

// annotations warns of annotations that have no effect as they are.
func annotations(l *finding.List, cp *controlplanev1.RKE2ControlPlane) {
	key := controlplanev1.RestartedAtAnnotation
	text, ok := cp.Annotations[key]
	if _, err := time.Parse(time.RFC3339, text); ok && err != nil {
		l.Warn(field.NewPath("metadata", "annotations").Key(key), "%q is no time, so no server is replaced: give it as in 2026-03-09T09:00:00Z", text)
	}
}
