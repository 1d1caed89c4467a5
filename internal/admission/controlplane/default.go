package controlplane

import (
	"k8s.io/utils/ptr"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/bootstrap"
)

// The time limits of deleting a server, in seconds, where the control plane has
// none. They are those of the provider that clusters are taken over from.
const (
	defaultNodeDrainTimeout        int32 = 120
	defaultNodeVolumeDetachTimeout int32 = 300
	defaultNodeDeletionTimeout     int32 = 10
)

// Default sets what is not set in a control plane.
func Default(spec *controlplanev1.RKE2ControlPlaneSpec) {
	bootstrap.Default(&spec.RKE2ConfigSpec)
	setDefault(&spec.Replicas, controlplanev1.DefaultReplicas)
	defaultRolloutType(&spec.RolloutStrategy)
	deletion := &spec.MachineTemplate.Spec.Deletion
	setDefault(&deletion.NodeDrainTimeoutSeconds, defaultNodeDrainTimeout)
	setDefault(&deletion.NodeVolumeDetachTimeoutSeconds, defaultNodeVolumeDetachTimeout)
	setDefault(&deletion.NodeDeletionTimeoutSeconds, defaultNodeDeletionTimeout)
}

// DefaultTemplate sets what is not set in a template. The time limits are left
// to the control planes made from it, for which a Cluster may have its own.
func DefaultTemplate(spec *controlplanev1.RKE2ControlPlaneTemplateResourceSpec) {
	bootstrap.Default(&spec.RKE2ConfigSpec)
	defaultRolloutType(&spec.RolloutStrategy)
}

func defaultRolloutType(strategy **controlplanev1.RolloutStrategy) {
	if *strategy == nil {
		*strategy = &controlplanev1.RolloutStrategy{}
	}
	if (*strategy).Type == "" {
		(*strategy).Type = controlplanev1.RollingUpdateStrategyType
	}
}

func setDefault(value **int32, to int32) {
	if *value == nil {
		*value = ptr.To(to)
	}
}
