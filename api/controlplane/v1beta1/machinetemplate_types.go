package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// RKE2ControlPlaneMachineTemplate is what the servers' Machines are made from.
type RKE2ControlPlaneMachineTemplate struct {
	// metadata holds labels and annotations for the Machines, their infrastructure machines and their RKE2Configs.
	// Changes reach existing objects without replacing a server.
	// +optional
	ObjectMeta clusterv1beta1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// infrastructureRef names the infrastructure machine template the servers are made from: apiVersion, kind and name
	// count. It is machineTemplate.spec.infrastructureRef of v1beta2.
	// +optional
	InfrastructureRef corev1.ObjectReference `json:"infrastructureRef,omitempty,omitzero"`

	// nodeDrainTimeout is how long draining the node may take, for example "2m". After that the Machine is deleted
	// although pods may be left. Not set, and 0, mean no limit. Parts of a second count as a whole one.
	// +optional
	NodeDrainTimeout *metav1.Duration `json:"nodeDrainTimeout,omitempty"`

	// nodeVolumeDetachTimeout is how long detaching the node's volumes may take. Not set, and 0, mean no limit. Parts of
	// a second count as a whole one.
	// +optional
	NodeVolumeDetachTimeout *metav1.Duration `json:"nodeVolumeDetachTimeout,omitempty"`

	// nodeDeletionTimeout is how long deleting the Node object is tried. Cluster API's default is 10 seconds; 0 means for
	// ever. Parts of a second count as a whole one.
	// +optional
	NodeDeletionTimeout *metav1.Duration `json:"nodeDeletionTimeout,omitempty"`

	// readinessGates are conditions of a Machine, set by others, that have to be true for the Machine to be ready. Those
	// Drover sets itself are always among them (a Machine can have 32 in all). Changes reach existing Machines without replacing a server.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MaxItems=27
	ReadinessGates []clusterv1.MachineReadinessGate `json:"readinessGates,omitempty"`

	// taints are taints that Cluster API keeps on the servers' nodes, where its feature MachineTaintPropagation is on.
	// agentConfig.nodeTaints are those RKE2 registers a node with. Changes reach existing Machines without replacing a
	// server.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MaxItems=64
	Taints []clusterv1.MachineTaint `json:"taints,omitempty"`
}
