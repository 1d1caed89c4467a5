package v1beta2

import "k8s.io/apimachinery/pkg/util/intstr"

// DefaultReplicas is the number of servers when spec.replicas is not set.
const DefaultReplicas int32 = 1

// DefaultMaxSurge is the number of servers above replicas when maxSurge is not set.
const DefaultMaxSurge int32 = 1

// ReplicasOrDefault returns the wanted number of servers.
func (s *RKE2ControlPlaneSpec) ReplicasOrDefault() int32 {
	if s == nil || s.Replicas == nil {
		return DefaultReplicas
	}
	return *s.Replicas
}

// RolloutTypeOrDefault returns how servers are replaced.
func (s *RKE2ControlPlaneSpec) RolloutTypeOrDefault() RolloutStrategyType {
	if s == nil || s.RolloutStrategy == nil || s.RolloutStrategy.Type == "" {
		return RollingUpdateStrategyType
	}
	return s.RolloutStrategy.Type
}

// MaxSurgeOrDefault returns how many servers there may be above replicas: 0 only when the integer 0 is asked for, else
// 1. Objects stored before the schema refused them may hold percentages or larger numbers; for those 1 is the safe
// reading, since a replacement is then made before anything is removed, and one at a time.
func (s *RKE2ControlPlaneSpec) MaxSurgeOrDefault() int32 {
	if s == nil || s.RolloutStrategy == nil || s.RolloutStrategy.RollingUpdate == nil {
		return DefaultMaxSurge
	}
	surge := s.RolloutStrategy.RollingUpdate.MaxSurge
	if surge != nil && surge.Type == intstr.Int && surge.IntVal == 0 {
		return 0
	}
	return DefaultMaxSurge
}

// RegistrationMethodOrDefault returns which address nodes join through.
func (s *RKE2ControlPlaneSpec) RegistrationMethodOrDefault() RegistrationMethod {
	if s == nil || s.RegistrationMethod == "" {
		return RegistrationControlPlaneEndpoint
	}
	return s.RegistrationMethod
}
