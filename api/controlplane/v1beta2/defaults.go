package v1beta2

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// DefaultReplicas is the number of servers when spec.replicas is not set.
const DefaultReplicas int32 = 1

// DefaultMaxSurge is the number of servers above replicas when maxSurge is not set.
const DefaultMaxSurge int32 = 1

// DefaultMinHealthyPeriod is how long a replacement has to stay healthy when nothing is said.
const DefaultMinHealthyPeriod = time.Hour

// ReplicasOrDefault returns the wanted number of servers.
func (s *RKE2ControlPlaneSpec) ReplicasOrDefault() int32 {
	if s == nil || s.Replicas == nil {
		return DefaultReplicas
	}
	return *s.Replicas
}

// strategy returns what counts of the two places a strategy may stand in: what rollout.strategy says, and
// rolloutStrategy for what it does not say. Admission refuses objects in which they differ.
func (s *RKE2ControlPlaneSpec) strategy() RolloutStrategy {
	var out RolloutStrategy
	if s == nil {
		return out
	}
	for _, given := range []*RolloutStrategy{s.Rollout.Strategy, s.RolloutStrategy} {
		if given == nil {
			continue
		}
		if out.Type == "" {
			out.Type = given.Type
		}
		if out.RollingUpdate == nil && given.RollingUpdate != nil && given.RollingUpdate.MaxSurge != nil {
			out.RollingUpdate = given.RollingUpdate
		}
	}
	return out
}

// RolloutTypeOrDefault returns how servers are replaced.
func (s *RKE2ControlPlaneSpec) RolloutTypeOrDefault() RolloutStrategyType {
	if t := s.strategy().Type; t != "" {
		return t
	}
	return RollingUpdateStrategyType
}

// MaxSurge returns how many servers there may be above replicas as it is written in rollout.strategy or rolloutStrategy,
// nil where neither says.
func (s *RKE2ControlPlaneSpec) MaxSurge() *intstr.IntOrString {
	if update := s.strategy().RollingUpdate; update != nil {
		return update.MaxSurge
	}
	return nil
}

// MaxSurgeOrDefault returns how many servers there may be above replicas: 0 only when the integer 0 is asked for, else
// 1. Objects stored before the schema refused them may hold percentages or larger numbers; for those 1 is the safe
// reading, since a replacement is then made before anything is removed, and one at a time.
func (s *RKE2ControlPlaneSpec) MaxSurgeOrDefault() int32 {
	if surge := s.MaxSurge(); surge != nil && surge.Type == intstr.Int && surge.IntVal == 0 {
		return 0
	}
	return DefaultMaxSurge
}

// RemediationOrDefault returns the limits of replacing unhealthy servers, from remediation and, for what that does not
// say, from remediationStrategy. No maxRetry means without end.
func (s *RKE2ControlPlaneSpec) RemediationOrDefault() (maxRetry *int32, retryPeriod, minHealthyPeriod time.Duration) {
	minHealthyPeriod = DefaultMinHealthyPeriod
	if s == nil {
		return nil, 0, minHealthyPeriod
	}
	if old := s.RemediationStrategy; old != nil {
		maxRetry, retryPeriod = old.MaxRetry, old.RetryPeriod.Duration
		if old.MinHealthyPeriod != nil {
			minHealthyPeriod = old.MinHealthyPeriod.Duration
		}
	}
	if n := s.Remediation.MaxRetry; n != nil {
		maxRetry = n
	}
	if n := s.Remediation.RetryPeriodSeconds; n != nil {
		retryPeriod = time.Duration(*n) * time.Second
	}
	if n := s.Remediation.MinHealthyPeriodSeconds; n != nil {
		minHealthyPeriod = time.Duration(*n) * time.Second
	}
	return maxRetry, retryPeriod, minHealthyPeriod
}

// RegistrationMethodOrDefault returns which address nodes join through.
func (s *RKE2ControlPlaneSpec) RegistrationMethodOrDefault() RegistrationMethod {
	if s == nil || s.RegistrationMethod == "" {
		return RegistrationControlPlaneEndpoint
	}
	return s.RegistrationMethod
}

// IsLegacy tells whether the cluster is of the legacy kind: no Secret was made for the certificate authorities of its
// etcd.
func (c *RKE2ControlPlane) IsLegacy() bool {
	_, legacy := c.Annotations[LegacyAnnotation]
	return legacy
}
