package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineFinalizer keeps a LabMachine until its machine is gone.
const MachineFinalizer = "labmachine.infrastructure.cluster.x-k8s.io"

const (
	// InstanceRunningCondition tells whether the machine runs.
	InstanceRunningCondition = "InstanceRunning"
	// UserDataSucceededCondition tells how the bootstrap data went inside the machine.
	UserDataSucceededCondition = "UserDataSucceeded"
	// BootstrapExecSucceededCondition tells how the bootstrap went that the user data run: with False its message is what
	// the bootstrap says of its failure. DockerMachine and KubevirtMachine have a condition of this name.
	BootstrapExecSucceededCondition = "BootstrapExecSucceeded"
)

// Reasons of the conditions of a LabMachine.
const (
	WaitingForClusterReason       = "WaitingForClusterInfrastructure"
	WaitingForMachineReason       = "WaitingForOwnerMachine"
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"
	NameTakenReason               = "NameTaken"
	NoHostFreeReason              = "NoHostFree"
	BootDelayedReason             = "BootDelayed"
	ReportDelayedReason           = "ReportDelayed"
	BootFailedReason              = "BootFailed"
	StartingReason                = "Starting"
	RunningReason                 = "Running"
	TerminatedReason              = "Terminated"
	UserDataRunningReason         = "Running"
	UserDataSucceededReason       = "Succeeded"
	UserDataFailedReason          = "Failed"
	BootstrapRunningReason        = "BootstrapRunning"
	BootstrapSucceededReason      = "BootstrapSucceeded"
	BootstrapFailedReason         = "BootstrapFailed"
	DeletingReason                = "Deleting"
)

// InstanceState says what a machine is doing.
// +kubebuilder:validation:Enum=Pending;Running;Frozen;CutOff;Terminated;Failed
type InstanceState string

// The states of an instance.
const (
	InstancePending    InstanceState = "Pending"
	InstanceRunning    InstanceState = "Running"
	InstanceFrozen     InstanceState = "Frozen"
	InstanceCutOff     InstanceState = "CutOff"
	InstanceTerminated InstanceState = "Terminated"
	InstanceFailed     InstanceState = "Failed"
)

// LabMachineSpec describes a machine.
type LabMachineSpec struct {
	// providerID is set by the lab once the machine runs: lab://CLUSTER/NAME.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// failureDomain is where the machine shall be, unless its Machine asks for another one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// hostnames are those of the hosts that the machine may get, as bare metal has them: it becomes the first one that no
	// other machine is, and waits while there is none. Without any, its hostname is its own name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Hostnames []string `json:"hostnames,omitempty"`

	// bootDelay is how long the machine takes to boot, beyond the fraction of a second it needs (for example 30s).
	// +optional
	BootDelay metav1.Duration `json:"bootDelay,omitempty,omitzero"`

	// reportDelay is how long the machine runs before anything is told of it: its provider ID, its addresses, that it is
	// provisioned (for example 60s).
	// +optional
	ReportDelay metav1.Duration `json:"reportDelay,omitempty,omitzero"`
}

// LabMachineStatus is what was observed of a machine.
// +kubebuilder:validation:MinProperties=1
type LabMachineStatus struct {
	// conditions of the machine.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells whether the machine was provisioned once.
	// +optional
	Initialization LabMachineInitialization `json:"initialization,omitempty,omitzero"`

	// addresses of the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// failureDomain is where the machine is.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// instanceState says what the machine is doing.
	// +optional
	InstanceState InstanceState `json:"instanceState,omitempty"`
}

// LabMachineInitialization tells how far the first provisioning has come.
// +kubebuilder:validation:MinProperties=1
type LabMachineInitialization struct {
	// provisioned is true once the machine has been running.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// LabMachine is one machine of the laboratory.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=labmachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=infrastructure-lab"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.instanceState"
// +kubebuilder:printcolumn:name="Address",type="string",JSONPath=".status.addresses[0].address"
// +kubebuilder:printcolumn:name="Failure domain",type="string",JSONPath=".status.failureDomain"
// +kubebuilder:printcolumn:name="User data",type="string",JSONPath=".status.conditions[?(@.type=='UserDataSucceeded')].reason"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type LabMachine struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec is the desired state.
	// +optional
	Spec LabMachineSpec `json:"spec,omitempty,omitzero"`
	// status is the observed state.
	// +optional
	Status LabMachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the object.
func (m *LabMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (m *LabMachine) SetConditions(conditions []metav1.Condition) { m.Status.Conditions = conditions }

// LabMachineList is a list of LabMachines.
//
// +kubebuilder:object:root=true
type LabMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LabMachine `json:"items"`
}

// LabMachineTemplateSpec holds what LabMachines are made from.
type LabMachineTemplateSpec struct {
	// template is what each LabMachine is made from.
	// +required
	Template LabMachineTemplateResource `json:"template,omitempty,omitzero"`
}

// LabMachineTemplateResource is the data of a LabMachine that is made from a template.
type LabMachineTemplateResource struct {
	// metadata holds labels and annotations of the LabMachine.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec is the spec of the LabMachine; an empty one is fine.
	// +optional
	Spec LabMachineSpec `json:"spec,omitempty,omitzero"`
}

// LabMachineTemplate is a template for LabMachines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=labmachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=infrastructure-lab"
type LabMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec is the desired state.
	// +optional
	Spec LabMachineTemplateSpec `json:"spec,omitempty,omitzero"`
}

// LabMachineTemplateList is a list of LabMachineTemplates.
//
// +kubebuilder:object:root=true
type LabMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LabMachineTemplate `json:"items"`
}
