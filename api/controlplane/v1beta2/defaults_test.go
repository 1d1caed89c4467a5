package v1beta2

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestDefaultsOfNothing(t *testing.T) {
	for name, spec := range map[string]*RKE2ControlPlaneSpec{
		"nil": nil, "empty": {}, "empty strategy": {RolloutStrategy: &RolloutStrategy{}},
	} {
		if got := spec.ReplicasOrDefault(); got != 1 {
			t.Errorf("%s: replicas %d", name, got)
		}
		if got := spec.MaxSurgeOrDefault(); got != 1 {
			t.Errorf("%s: maxSurge %d", name, got)
		}
		if got := spec.RolloutTypeOrDefault(); got != RollingUpdateStrategyType {
			t.Errorf("%s: rollout type %q", name, got)
		}
		if got := spec.RegistrationMethodOrDefault(); got != RegistrationControlPlaneEndpoint {
			t.Errorf("%s: registration method %q", name, got)
		}
	}
}

func TestSetValuesWin(t *testing.T) {
	replicas := int32(3)
	spec := &RKE2ControlPlaneSpec{
		Replicas:           &replicas,
		RegistrationMethod: RegistrationAddress,
		RolloutStrategy:    &RolloutStrategy{Type: "Other"},
	}
	if spec.ReplicasOrDefault() != 3 || spec.RegistrationMethodOrDefault() != RegistrationAddress ||
		spec.RolloutTypeOrDefault() != "Other" {
		t.Errorf("a set value was replaced by a default: %+v", spec)
	}
}

func TestMaxSurge(t *testing.T) {
	for value, want := range map[intstr.IntOrString]int32{
		intstr.FromInt32(0):     0,
		intstr.FromInt32(1):     1,
		intstr.FromInt32(3):     1,
		intstr.FromInt32(-1):    1,
		intstr.FromString("0"):  1,
		intstr.FromString("0%"): 1,
	} {
		spec := &RKE2ControlPlaneSpec{RolloutStrategy: &RolloutStrategy{
			RollingUpdate: &RollingUpdate{MaxSurge: &value},
		}}
		if got := spec.MaxSurgeOrDefault(); got != want {
			t.Errorf("%s: got %d, want %d", value.String(), got, want)
		}
	}
}
