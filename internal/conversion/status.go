package conversion

import (
	"k8s.io/utils/ptr"

	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// statusToHub converts the status of a control plane from v1beta1 to v1beta2. The block v1beta2 has the better values,
// because its counters tell 0 from unknown; without it the older counters count.
func statusToHub(src controlplanev1beta1.RKE2ControlPlaneStatus) controlplanev1.RKE2ControlPlaneStatus {
	dst := common[controlplanev1.RKE2ControlPlaneStatus](src)
	dst.Replicas, dst.ReadyReplicas, dst.UpToDateReplicas = count(src.Replicas), count(src.ReadyReplicas), count(src.UpdatedReplicas)
	dst.Version = ptr.Deref(src.Version, "")
	if src.Initialized {
		dst.Initialization.ControlPlaneInitialized = ptr.To(true)
	}
	if block := src.V1Beta2; block != nil {
		dst.Conditions = block.Conditions
		dst.AvailableReplicas = block.AvailableReplicas
		if block.ReadyReplicas != nil {
			dst.ReadyReplicas = block.ReadyReplicas
		}
		if block.UpToDateReplicas != nil {
			dst.UpToDateReplicas = block.UpToDateReplicas
		}
	}
	return dst
}

// statusFromHub converts the status of a control plane from v1beta2 to v1beta1.
func statusFromHub(src controlplanev1.RKE2ControlPlaneStatus) controlplanev1beta1.RKE2ControlPlaneStatus {
	replicas, ready := ptr.Deref(src.Replicas, 0), ptr.Deref(src.ReadyReplicas, 0)
	dst := common[controlplanev1beta1.RKE2ControlPlaneStatus](src)
	dst.Ready = ready > 0
	dst.Initialized = ptr.Deref(src.Initialization.ControlPlaneInitialized, false)
	dst.Conditions = controlPlaneConditions(src.Conditions)
	dst.Replicas, dst.ReadyReplicas, dst.UpdatedReplicas = replicas, ready, ptr.Deref(src.UpToDateReplicas, 0)
	dst.UnavailableReplicas = max(replicas-ptr.Deref(src.AvailableReplicas, 0), 0)
	if src.Version != "" {
		dst.Version = &src.Version
	}
	block := common[controlplanev1beta1.RKE2ControlPlaneV1Beta2Status](src)
	if !same(block, controlplanev1beta1.RKE2ControlPlaneV1Beta2Status{}) {
		dst.V1Beta2 = &block
	}
	return dst
}

// hubOnlyStatus returns the parts of a status that v1beta1 does not have, or has without the difference between zero
// and unknown.
func hubOnlyStatus(src controlplanev1.RKE2ControlPlaneStatus) controlplanev1.RKE2ControlPlaneStatus {
	return controlplanev1.RKE2ControlPlaneStatus{
		Initialization: src.Initialization, Replicas: src.Replicas, Selector: src.Selector, Versions: src.Versions,
	}
}

// restoreHubStatus puts those parts back that were kept, unless the v1beta1 object says otherwise.
func restoreHubStatus(dst *controlplanev1.RKE2ControlPlaneStatus, src controlplanev1beta1.RKE2ControlPlaneStatus, kept controlplanev1.RKE2ControlPlaneStatus) {
	dst.Selector, dst.Versions = kept.Selector, kept.Versions
	if src.Initialized == ptr.Deref(kept.Initialization.ControlPlaneInitialized, false) {
		dst.Initialization = kept.Initialization
	}
	if src.Replicas == ptr.Deref(kept.Replicas, 0) {
		dst.Replicas = kept.Replicas
	}
}

// count returns a counter of v1beta2, where 0 in v1beta1 stands for unknown.
func count(n int32) *int32 {
	if n == 0 {
		return nil
	}
	return &n
}
