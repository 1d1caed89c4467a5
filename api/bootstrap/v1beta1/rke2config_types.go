package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// RKE2ConfigStatus reports what has been made of an RKE2Config, in the terms of Cluster API's contract v1beta1.
type RKE2ConfigStatus struct {
	// ready is true once the Secret named by dataSecretName exists. It is initialization.dataSecretCreated of v1beta2.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// dataSecretName is the name of the Secret, in the namespace of the config, that holds the bootstrap data.
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

	// conditions describe the current state of the config. They repeat those of v1beta2 in the older form.
	// +optional
	Conditions clusterv1beta1.Conditions `json:"conditions,omitempty"`

	// v1beta2 holds the parts of the status that v1beta2 has in another form.
	// +optional
	V1Beta2 *RKE2ConfigV1Beta2Status `json:"v1beta2,omitempty"`
}

// RKE2ConfigV1Beta2Status holds the parts of an RKE2Config's status that v1beta2 has in another form.
type RKE2ConfigV1Beta2Status struct {
	// conditions are status.conditions of v1beta2, unchanged.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RKE2Config describes how one machine becomes an RKE2 node.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rke2configs,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
type RKE2Config struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the machine should become.
	// +optional
	Spec bootstrapv1.RKE2ConfigSpec `json:"spec,omitempty,omitzero"`

	// status is what has been made of it.
	// +optional
	Status RKE2ConfigStatus `json:"status,omitempty,omitzero"`
}

// RKE2ConfigList is a list of RKE2Configs.
//
// +kubebuilder:object:root=true
type RKE2ConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the configs of the list.
	Items []RKE2Config `json:"items"`
}
