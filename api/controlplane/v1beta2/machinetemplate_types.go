package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// RKE2ControlPlaneMachineTemplate is what the servers' Machines are made from.
type RKE2ControlPlaneMachineTemplate struct {
	// metadata holds labels and annotations for the Machines, their infrastructure machines and their RKE2Configs.
	// Changes reach existing objects without replacing a server.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec holds the rest of the template.
	// +optional
	Spec RKE2ControlPlaneMachineTemplateSpec `json:"spec,omitempty,omitzero"`
}

// RKE2ControlPlaneMachineTemplateSpec is the spec of the servers' Machines.
type RKE2ControlPlaneMachineTemplateSpec struct {
	// infrastructureRef names the infrastructure machine template the servers are made from. A control plane needs it;
	// in a template for a ClusterClass it may be left out, since the ClusterClass names one.
	// +optional
	InfrastructureRef clusterv1.ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero"`

	// deletion holds how long each step of deleting a server may take. Changes reach existing Machines, also ones that
	// are being deleted, without replacing a server.
	// +optional
	Deletion RKE2ControlPlaneMachineTemplateDeletionSpec `json:"deletion,omitempty,omitzero"`

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

// RKE2ControlPlaneMachineTemplateDeletionSpec holds the time limits of deleting a Machine.
// +kubebuilder:validation:MinProperties=1
type RKE2ControlPlaneMachineTemplateDeletionSpec struct {
	// nodeDrainTimeoutSeconds is how long draining the node may take, in seconds. After that the Machine is deleted
	// although pods may be left. Not set, and 0, mean no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeDrainTimeoutSeconds *int32 `json:"nodeDrainTimeoutSeconds,omitempty"`

	// nodeVolumeDetachTimeoutSeconds is how long detaching the node's volumes may take, in seconds. Not set, and 0, mean
	// no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeVolumeDetachTimeoutSeconds *int32 `json:"nodeVolumeDetachTimeoutSeconds,omitempty"`

	// nodeDeletionTimeoutSeconds is how long deleting the Node object is tried, in seconds. Cluster API's default is 10;
	// 0 means for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeDeletionTimeoutSeconds *int32 `json:"nodeDeletionTimeoutSeconds,omitempty"`
}
