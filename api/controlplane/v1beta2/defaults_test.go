package v1beta2

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Both shapes of the strategy count; what rollout.strategy says wins.
func TestTwoShapesOfTheStrategy(t *testing.T) {
	surge := func(n int32) *RolloutStrategy {
		value := intstr.FromInt32(n)
		return &RolloutStrategy{RollingUpdate: &RollingUpdate{MaxSurge: &value}}
	}
	typeOnly := &RolloutStrategy{Type: RollingUpdateStrategyType}
	for name, c := range map[string]struct {
		old, field *RolloutStrategy
		want       int32
	}{
		"neither":           {nil, nil, 1},
		"the old one":       {surge(0), nil, 0},
		"the field's":       {nil, surge(0), 0},
		"a type by default": {typeOnly, surge(0), 0},
		"the other way":     {surge(0), typeOnly, 0},
		"the field's wins":  {surge(0), surge(1), 1},
	} {
		spec := &RKE2ControlPlaneSpec{RolloutStrategy: c.old, Rollout: RolloutSpec{Strategy: c.field}}
		if got := spec.MaxSurgeOrDefault(); got != c.want {
			t.Errorf("%s: maxSurge %d, want %d", name, got, c.want)
		}
		if got := spec.RolloutTypeOrDefault(); got != RollingUpdateStrategyType {
			t.Errorf("%s: type %q", name, got)
		}
	}
}

func TestRemediation(t *testing.T) {
	n := func(v int32) *int32 { return &v }
	old := &RemediationStrategy{
		MaxRetry: n(2), RetryPeriod: metav1.Duration{Duration: 20 * time.Minute}, MinHealthyPeriod: &metav1.Duration{Duration: 2 * time.Hour},
	}
	for name, c := range map[string]struct {
		spec                          *RKE2ControlPlaneSpec
		maxRetry                      *int32
		retryPeriod, minHealthyPeriod time.Duration
	}{
		"nil":       {nil, nil, 0, time.Hour},
		"nothing":   {&RKE2ControlPlaneSpec{}, nil, 0, time.Hour},
		"empty old": {&RKE2ControlPlaneSpec{RemediationStrategy: &RemediationStrategy{}}, nil, 0, time.Hour},
		"old":       {&RKE2ControlPlaneSpec{RemediationStrategy: old}, n(2), 20 * time.Minute, 2 * time.Hour},
		"the field's": {&RKE2ControlPlaneSpec{Remediation: RemediationSpec{MaxRetry: n(0), RetryPeriodSeconds: n(60), MinHealthyPeriodSeconds: n(0)}},
			n(0), time.Minute, 0},
		"one of each": {&RKE2ControlPlaneSpec{RemediationStrategy: old, Remediation: RemediationSpec{RetryPeriodSeconds: n(0)}}, n(2), 0, 2 * time.Hour},
	} {
		maxRetry, retryPeriod, minHealthyPeriod := c.spec.RemediationOrDefault()
		if (maxRetry == nil) != (c.maxRetry == nil) || maxRetry != nil && *maxRetry != *c.maxRetry || retryPeriod != c.retryPeriod || minHealthyPeriod != c.minHealthyPeriod {
			t.Errorf("%s: %v %v %v", name, maxRetry, retryPeriod, minHealthyPeriod)
		}
	}
}
