package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// RKE2ControlPlaneStatus reports what was found about a control plane. Every field can be derived again from the
// cluster, because moving objects between management clusters does not carry the status along.
type RKE2ControlPlaneStatus struct {
	// conditions describe the current state of the control plane. The condition types are listed in this package.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells Cluster API whether the control plane can take requests.
	// +optional
	Initialization RKE2ControlPlaneInitializationStatus `json:"initialization,omitempty,omitzero"`

	// selector is the label selector, in text form, that finds the servers' Machines. The scale subresource reports it.
	// +optional
	Selector string `json:"selector,omitempty"`

	// replicas is the number of Machines, including those being deleted.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of Machines whose Ready condition is true.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`

	// availableReplicas is the number of Machines whose Available condition is true.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`

	// upToDateReplicas is the number of Machines whose UpToDate condition is true.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// version is the lowest RKE2 release among the servers. versions says more.
	// +optional
	Version string `json:"version,omitempty"`

	// versions are the RKE2 releases of the servers with how many servers run each, lowest first. Releases that differ
	// only in their rke2rN part are ordered by N as a number.
	// +optional
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MaxItems=100
	Versions []clusterv1.StatusVersion `json:"versions,omitempty"`

	// availableServerIPs are the addresses nodes can join through, as registrationMethod selects them.
	// +optional
	AvailableServerIPs []string `json:"availableServerIPs,omitempty"`

	// lastRemediation is the last replacement of an unhealthy server.
	// +optional
	LastRemediation *LastRemediationStatus `json:"lastRemediation,omitempty"`

	// rollout tells which servers are to be replaced, and why, whether or not that goes on now. Not set means none.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// observedGeneration is the generation of the spec this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// RKE2ControlPlaneInitializationStatus is the part of the status Cluster API waits for.
// +kubebuilder:validation:MinProperties=1
type RKE2ControlPlaneInitializationStatus struct {
	// controlPlaneInitialized is true once the first server's API has answered. It never becomes false again.
	// +optional
	ControlPlaneInitialized *bool `json:"controlPlaneInitialized,omitempty"`
}

// LastRemediationStatus records one replacement of an unhealthy server. The annotations
// RemediationInProgressAnnotation and RemediationForAnnotation hold the same record as JSON.
type LastRemediationStatus struct {
	// machine is the name of the Machine that was replaced.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Machine string `json:"machine"`

	// timestamp is when it was deleted.
	// +required
	Timestamp metav1.Time `json:"timestamp"`

	// retryCount is how many replacements in a row came before this one: 0 for the first.
	// +required
	RetryCount int `json:"retryCount"`
}

// RolloutStatus tells which servers are to be replaced, and why.
type RolloutStatus struct {
	// pending are the servers that are not up to date and stay until they are replaced, the one that is replaced next
	// first, as far as that can be told.
	// +optional
	// +listType=map
	// +listMapKey=machine
	// +kubebuilder:validation:MaxItems=100
	Pending []PendingReplacement `json:"pending,omitempty"`

	// held says why none of them is replaced although the control plane is healthy: each a sentence. Conditions say what
	// else holds a rollout up.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Held []string `json:"held,omitempty"`

	// nextTime is when the next server that is up to date now has to be replaced because of the time: by rollout.after,
	// or because a certificate expires.
	// +optional
	NextTime metav1.Time `json:"nextTime,omitempty,omitzero"`
}

// PendingReplacement is one server that is not up to date.
type PendingReplacement struct {
	// machine is the name of its Machine.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Machine string `json:"machine"`

	// reasons are the ways in which it differs from what is wanted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Reasons []string `json:"reasons,omitempty"`
}
