package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
)

// RKE2ControlPlaneTemplateSpec holds the template.
type RKE2ControlPlaneTemplateSpec struct {
	// template is the control plane that is made for each Cluster.
	// +required
	Template RKE2ControlPlaneTemplateResource `json:"template"`
}

// RKE2ControlPlaneTemplateResource is the metadata and spec a made control plane gets.
type RKE2ControlPlaneTemplateResource struct {
	// metadata holds labels and annotations for the made control planes.
	// +optional
	ObjectMeta clusterv1beta1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the spec of the made control planes. Its replicas and version have no effect.
	// +required
	Spec RKE2ControlPlaneSpec `json:"spec"`
}

// RKE2ControlPlaneTemplate is a template for RKE2ControlPlanes, used by ClusterClasses.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rke2controlplanetemplates,scope=Namespaced,categories=cluster-api,shortName=rke2ct
type RKE2ControlPlaneTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec holds the template.
	// +optional
	Spec RKE2ControlPlaneTemplateSpec `json:"spec,omitempty,omitzero"`

	// status has no meaning for a template. It is kept for objects that have it.
	// +optional
	Status RKE2ControlPlaneStatus `json:"status,omitempty,omitzero"`
}

// RKE2ControlPlaneTemplateList is a list of RKE2ControlPlaneTemplates.
//
// +kubebuilder:object:root=true
type RKE2ControlPlaneTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the templates of the list.
	Items []RKE2ControlPlaneTemplate `json:"items"`
}
