package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// RKE2ControlPlaneStatus reports what was found about a control plane, in the terms of Cluster API's contract v1beta1.
type RKE2ControlPlaneStatus struct {
	// ready is true while at least one server is ready.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// initialized is true once the first server's API has answered. It is initialization.controlPlaneInitialized of
	// v1beta2.
	// +optional
	Initialized bool `json:"initialized,omitempty"`

	// dataSecretName has no meaning for a control plane. It is kept for objects that have it.
	// +optional
	DataSecretName *string `json:"dataSecretName,omitempty"`

	// failureReason is a short word for a failure that does not go away by itself. Drover reports failures as
	// conditions and leaves it empty.
	// +optional
	FailureReason string `json:"failureReason,omitempty"`

	// failureMessage describes the failure named by failureReason.
	// +optional
	FailureMessage string `json:"failureMessage,omitempty"`

	// observedGeneration is the generation of the spec this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions describe the current state of the control plane. They repeat those of v1beta2 in the older form and
	// under the older names.
	// +optional
	Conditions clusterv1beta1.Conditions `json:"conditions,omitempty"`

	// replicas is the number of Machines, including those being deleted.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// version is the lowest RKE2 release among the servers.
	// +optional
	Version *string `json:"version,omitempty"`

	// readyReplicas is the number of Machines whose Ready condition is true.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// updatedReplicas is the number of Machines that match the spec. It is upToDateReplicas of v1beta2.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

	// unavailableReplicas is the number of Machines that are not available: replicas less availableReplicas of v1beta2.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty"`

	// availableServerIPs are the addresses nodes can join through, as registrationMethod selects them.
	// +optional
	AvailableServerIPs []string `json:"availableServerIPs,omitempty"`

	// lastRemediation is the last replacement of an unhealthy server.
	// +optional
	LastRemediation *controlplanev1.LastRemediationStatus `json:"lastRemediation,omitempty"`

	// rollout tells which servers are to be replaced, and why, whether or not that goes on now. Not set means none.
	// +optional
	Rollout *controlplanev1.RolloutStatus `json:"rollout,omitempty"`

	// v1beta2 holds the parts of the status that v1beta2 has in another form.
	// +optional
	V1Beta2 *RKE2ControlPlaneV1Beta2Status `json:"v1beta2,omitempty"`
}

// RKE2ControlPlaneV1Beta2Status holds the parts of an RKE2ControlPlane's status that v1beta2 has in another form.
type RKE2ControlPlaneV1Beta2Status struct {
	// conditions are status.conditions of v1beta2, unchanged.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// readyReplicas is the number of Machines whose Ready condition is true.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is the number of Machines whose Available condition is true.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`

	// upToDateReplicas is the number of Machines whose UpToDate condition is true.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`
}
