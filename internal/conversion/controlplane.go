package conversion

import (
	"context"

	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"

	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// controlPlaneToHub converts an RKE2ControlPlane from v1beta1 to v1beta2.
func controlPlaneToHub(_ context.Context, src *controlplanev1beta1.RKE2ControlPlane, dst *controlplanev1.RKE2ControlPlane) error {
	src = src.DeepCopy()
	dst.ObjectMeta = src.ObjectMeta
	kept := takeKept[controlplanev1.RKE2ControlPlane](dst)
	dst.Spec = specToHub(src.Spec)
	dst.Status = statusToHub(src.Status)
	restoreHubStatus(&dst.Status, src.Status, kept.Status)

	lost := controlplanev1beta1.RKE2ControlPlane{Spec: lostSpec(src.Spec, dst.Spec, src.Namespace)}
	if !same(src.Status, statusFromHub(dst.Status)) {
		lost.Status = src.Status
	}
	if same(lost, controlplanev1beta1.RKE2ControlPlane{}) {
		return nil
	}
	return keep(&lost, dst)
}

// controlPlaneFromHub converts an RKE2ControlPlane from v1beta2 to v1beta1.
func controlPlaneFromHub(_ context.Context, src *controlplanev1.RKE2ControlPlane, dst *controlplanev1beta1.RKE2ControlPlane) error {
	src = src.DeepCopy()
	dst.ObjectMeta = src.ObjectMeta
	kept := takeKept[controlplanev1beta1.RKE2ControlPlane](dst)
	dst.Spec = specFromHub(src.Spec, src.Namespace)
	restoreMachineFields(&dst.Spec, kept.Spec)
	dst.Status = statusFromHub(src.Status)
	if same(dst.Status, statusFromHub(statusToHub(kept.Status))) {
		dst.Status = kept.Status
	}
	if same(statusToHub(dst.Status), src.Status) {
		return nil
	}
	return keep(&controlplanev1.RKE2ControlPlane{Status: hubOnlyStatus(src.Status)}, dst)
}

// controlPlaneTemplateToHub converts an RKE2ControlPlaneTemplate from v1beta1 to v1beta2. Another provider may have
// left an annotation; it has nothing to add, because v1beta1 can express every template of v1beta2.
func controlPlaneTemplateToHub(_ context.Context, src *controlplanev1beta1.RKE2ControlPlaneTemplate, dst *controlplanev1.RKE2ControlPlaneTemplate) error {
	src = src.DeepCopy()
	dst.ObjectMeta = src.ObjectMeta
	takeKept[controlplanev1.RKE2ControlPlaneTemplate](dst)
	hub := specToHub(src.Spec.Template.Spec)
	dst.Spec.Template.ObjectMeta = metadataToHub(src.Spec.Template.ObjectMeta)
	// Replicas and version are not part of it.
	dst.Spec.Template.Spec = common[controlplanev1.RKE2ControlPlaneTemplateResourceSpec](hub)

	lost := controlplanev1beta1.RKE2ControlPlaneTemplate{Status: src.Status}
	lost.Spec.Template.Spec = lostSpec(src.Spec.Template.Spec, hub, src.Namespace)
	lost.Spec.Template.Spec.Replicas = src.Spec.Template.Spec.Replicas
	lost.Spec.Template.Spec.Version = src.Spec.Template.Spec.Version
	if same(lost, controlplanev1beta1.RKE2ControlPlaneTemplate{}) {
		return nil
	}
	return keep(&lost, dst)
}

// controlPlaneTemplateFromHub converts an RKE2ControlPlaneTemplate from v1beta2 to v1beta1.
func controlPlaneTemplateFromHub(_ context.Context, src *controlplanev1.RKE2ControlPlaneTemplate, dst *controlplanev1beta1.RKE2ControlPlaneTemplate) error {
	src = src.DeepCopy()
	dst.ObjectMeta = src.ObjectMeta
	kept := takeKept[controlplanev1beta1.RKE2ControlPlaneTemplate](dst)
	spec := specFromHub(common[controlplanev1.RKE2ControlPlaneSpec](src.Spec.Template.Spec), src.Namespace)
	restoreMachineFields(&spec, kept.Spec.Template.Spec)
	spec.Replicas, spec.Version = kept.Spec.Template.Spec.Replicas, kept.Spec.Template.Spec.Version
	dst.Spec.Template = controlplanev1beta1.RKE2ControlPlaneTemplateResource{
		ObjectMeta: clusterv1beta1.ObjectMeta(src.Spec.Template.ObjectMeta), Spec: spec,
	}
	dst.Status = kept.Status
	return nil
}
