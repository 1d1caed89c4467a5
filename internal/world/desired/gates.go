package desired

import (
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// ReadinessGates are the conditions a Machine needs, besides core's own, to be
// ready: those that are set here about the server's static pods and its etcd
// member, and those the user adds. They also reach Machines that exist; on
// those that were taken over, the user's only.
func ReadinessGates(cp *controlplanev1.RKE2ControlPlane) []clusterv1.MachineReadinessGate {
	kinds := []string{controlplanev1.MachineAPIServerPodHealthyCondition, controlplanev1.MachineControllerManagerPodHealthyCondition}
	if !slices.Contains(cp.Spec.ServerConfig.DisableComponents.KubernetesComponents, controlplanev1.DisableScheduler) {
		kinds = append(kinds, controlplanev1.MachineSchedulerPodHealthyCondition)
	}
	if cp.Spec.ServerConfig.ExternalDatastoreSecret == nil && !cp.IsLegacy() {
		kinds = append(kinds, controlplanev1.MachineEtcdPodHealthyCondition, controlplanev1.MachineEtcdMemberHealthyCondition)
	}
	var out []clusterv1.MachineReadinessGate
	for _, kind := range kinds {
		out = append(out, clusterv1.MachineReadinessGate{ConditionType: kind})
	}
	for _, gate := range cp.Spec.MachineTemplate.Spec.ReadinessGates {
		if !slices.Contains(kinds, gate.ConditionType) {
			out = append(out, gate)
		}
	}
	return out
}

// Taints are the taints that core keeps on the node. They also reach Machines
// that exist.
func Taints(cp *controlplanev1.RKE2ControlPlane) []clusterv1.MachineTaint {
	return slices.Clone(cp.Spec.MachineTemplate.Spec.Taints)
}
