package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

func TestDefault(t *testing.T) {
	surge := intstr.FromInt32(0)
	for name, c := range map[string]struct{ given, want func(*spec) }{
		"nothing set": {
			given: func(*spec) {},
			want:  func(*spec) {},
		},
		"all set": {
			given: func(s *spec) {
				s.AgentConfig.Format = bootstrapv1.Ignition
				s.Replicas = ptr.To[int32](5)
				s.RolloutStrategy = &controlplanev1.RolloutStrategy{Type: "OnDelete"}
				d := &s.MachineTemplate.Spec.Deletion
				d.NodeDrainTimeoutSeconds, d.NodeVolumeDetachTimeoutSeconds, d.NodeDeletionTimeoutSeconds = ptr.To[int32](0), ptr.To[int32](0), ptr.To[int32](0)
			},
			want: func(s *spec) {
				s.AgentConfig.Format = bootstrapv1.Ignition
				s.Replicas = ptr.To[int32](5)
				s.RolloutStrategy = &controlplanev1.RolloutStrategy{Type: "OnDelete"}
				d := &s.MachineTemplate.Spec.Deletion
				d.NodeDrainTimeoutSeconds, d.NodeVolumeDetachTimeoutSeconds, d.NodeDeletionTimeoutSeconds = ptr.To[int32](0), ptr.To[int32](0), ptr.To[int32](0)
			},
		},
		"some set": {
			given: func(s *spec) {
				s.RolloutStrategy = &controlplanev1.RolloutStrategy{RollingUpdate: &controlplanev1.RollingUpdate{MaxSurge: &surge}}
				s.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](7)
			},
			want: func(s *spec) {
				s.RolloutStrategy.RollingUpdate = &controlplanev1.RollingUpdate{MaxSurge: &surge}
				s.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](7)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := spec{Replicas: ptr.To[int32](1), RolloutStrategy: &controlplanev1.RolloutStrategy{Type: "RollingUpdate"}}
			want.AgentConfig.Format = bootstrapv1.CloudConfig
			want.MachineTemplate.Spec.Deletion = controlplanev1.RKE2ControlPlaneMachineTemplateDeletionSpec{
				NodeDrainTimeoutSeconds: ptr.To[int32](120), NodeVolumeDetachTimeoutSeconds: ptr.To[int32](300), NodeDeletionTimeoutSeconds: ptr.To[int32](10),
			}
			c.want(&want)
			var got spec
			c.given(&got)
			Default(&got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("set once (- want, + got):\n%s", diff)
			}
			Default(&got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("set twice (- want, + got):\n%s", diff)
			}
		})
	}
}

func TestDefaultTemplate(t *testing.T) {
	var got, want controlplanev1.RKE2ControlPlaneTemplateResourceSpec
	want.AgentConfig.Format = bootstrapv1.CloudConfig
	want.RolloutStrategy = &controlplanev1.RolloutStrategy{Type: "RollingUpdate"}
	for range 2 {
		DefaultTemplate(&got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(- want, + got):\n%s", diff)
		}
	}
}
