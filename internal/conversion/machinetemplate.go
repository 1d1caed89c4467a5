package conversion

import (
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// defaultInfrastructureVersion is the version of an infrastructureRef in v1beta1 when nothing tells which one it was
// written with. It is the version most infrastructure providers serve, and the one that clients of v1beta1 know.
const defaultInfrastructureVersion = "v1beta1"

// timeout is how long something may take when a Machine is deleted, in both versions.
type timeout struct {
	old **metav1.Duration
	hub **int32
}

// timeouts pairs these fields of a machine template.
func timeouts(old *controlplanev1beta1.RKE2ControlPlaneMachineTemplate, hub *controlplanev1.RKE2ControlPlaneMachineTemplateDeletionSpec) []timeout {
	return []timeout{
		{&old.NodeDrainTimeout, &hub.NodeDrainTimeoutSeconds},
		{&old.NodeVolumeDetachTimeout, &hub.NodeVolumeDetachTimeoutSeconds},
		{&old.NodeDeletionTimeout, &hub.NodeDeletionTimeoutSeconds},
	}
}

// machineSpecToHub takes what Machines are made from out of a v1beta1 spec, deprecated fields included.
func machineSpecToHub(src controlplanev1beta1.RKE2ControlPlaneSpec) controlplanev1.RKE2ControlPlaneMachineTemplateSpec {
	ref := effectiveRef(src)
	dst := common[controlplanev1.RKE2ControlPlaneMachineTemplateSpec](src.MachineTemplate)
	dst.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: group(ref.APIVersion), Kind: ref.Kind, Name: ref.Name}
	template := src.MachineTemplate
	if template.NodeDrainTimeout == nil {
		template.NodeDrainTimeout = src.NodeDrainTimeout
	}
	for _, t := range timeouts(&template, &dst.Deletion) {
		*t.hub = seconds(*t.old)
	}
	return dst
}

// machineTemplateFromHub is the inverse of machineSpecToHub, which leaves the deprecated fields alone.
func machineTemplateFromHub(src controlplanev1.RKE2ControlPlaneMachineTemplate, namespace string) controlplanev1beta1.RKE2ControlPlaneMachineTemplate {
	dst := common[controlplanev1beta1.RKE2ControlPlaneMachineTemplate](src.Spec)
	dst.ObjectMeta = clusterv1beta1.ObjectMeta(src.ObjectMeta)
	for _, t := range timeouts(&dst, &src.Spec.Deletion) {
		*t.old = duration(*t.hub)
	}
	if ref := src.Spec.InfrastructureRef; ref.IsDefined() {
		dst.InfrastructureRef = corev1.ObjectReference{Kind: ref.Kind, Namespace: namespace, Name: ref.Name}
		if ref.APIGroup != "" {
			dst.InfrastructureRef.APIVersion = ref.APIGroup + "/" + defaultInfrastructureVersion
		}
	}
	return dst
}

// machineFields returns the fields of a v1beta1 spec that say what Machines are made from and that v1beta2 cannot hold as
// they are.
func machineFields(src controlplanev1beta1.RKE2ControlPlaneSpec) controlplanev1beta1.RKE2ControlPlaneSpec {
	template := src.MachineTemplate
	template.ObjectMeta = clusterv1beta1.ObjectMeta{}
	template.ReadinessGates, template.Taints = nil, nil
	return controlplanev1beta1.RKE2ControlPlaneSpec{
		MachineTemplate: template, InfrastructureRef: src.InfrastructureRef, NodeDrainTimeout: src.NodeDrainTimeout,
	}
}

// restoreMachineFields puts those fields back that were kept and still mean the same as the ones converted from
// v1beta2.
func restoreMachineFields(dst *controlplanev1beta1.RKE2ControlPlaneSpec, kept controlplanev1beta1.RKE2ControlPlaneSpec) {
	now, then := machineSpecToHub(*dst), machineSpecToHub(kept)
	switch {
	case now.InfrastructureRef == then.InfrastructureRef:
		dst.InfrastructureRef = kept.InfrastructureRef
		dst.MachineTemplate.InfrastructureRef = kept.MachineTemplate.InfrastructureRef
	case now.InfrastructureRef.Kind != "" && now.InfrastructureRef.GroupKind() == then.InfrastructureRef.GroupKind():
		dst.MachineTemplate.InfrastructureRef.APIVersion = effectiveRef(kept).APIVersion
	}
	if same(now.Deletion.NodeDrainTimeoutSeconds, then.Deletion.NodeDrainTimeoutSeconds) {
		dst.NodeDrainTimeout = kept.NodeDrainTimeout
	}
	before := timeouts(&kept.MachineTemplate, &then.Deletion)
	for i, t := range timeouts(&dst.MachineTemplate, &now.Deletion) {
		if same(*t.hub, *before[i].hub) {
			*t.old = *before[i].old
		}
	}
}

// effectiveRef returns the reference that counts: that of the machine template, or the deprecated one where the former
// names nothing.
func effectiveRef(src controlplanev1beta1.RKE2ControlPlaneSpec) corev1.ObjectReference {
	if ref := src.MachineTemplate.InfrastructureRef; ref.APIVersion != "" || ref.Kind != "" || ref.Name != "" {
		return ref
	}
	return src.InfrastructureRef
}

// group returns the group of an apiVersion: what stands before the last slash.
func group(apiVersion string) string {
	return apiVersion[:max(strings.LastIndex(apiVersion, "/"), 0)]
}

// metadataToHub converts the metadata of a template. An empty map becomes none, because v1beta2 wants at least one
// entry where there is metadata.
func metadataToHub(src clusterv1beta1.ObjectMeta) clusterv1.ObjectMeta {
	dst := clusterv1.ObjectMeta(src)
	if len(dst.Labels) == 0 {
		dst.Labels = nil
	}
	if len(dst.Annotations) == 0 {
		dst.Annotations = nil
	}
	return dst
}

// seconds rounds a duration up to whole seconds, so that none becomes 0, which would mean no limit.
func seconds(d *metav1.Duration) *int32 {
	if d == nil {
		return nil
	}
	whole := int64(d.Duration / time.Second)
	if d.Duration%time.Second > 0 {
		whole++
	}
	fitting := int32(min(max(whole, math.MinInt32), math.MaxInt32))
	return &fitting
}

func duration(seconds *int32) *metav1.Duration {
	if seconds == nil {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(*seconds) * time.Second}
}
