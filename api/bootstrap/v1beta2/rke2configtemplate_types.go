package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// RKE2ConfigTemplateSpec holds the template.
type RKE2ConfigTemplateSpec struct {
	// template is the RKE2Config that is made for each machine.
	// +required
	Template RKE2ConfigTemplateResource `json:"template"`
}

// RKE2ConfigTemplateResource is the metadata and spec a made RKE2Config gets.
type RKE2ConfigTemplateResource struct {
	// metadata holds labels and annotations for the made configs.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the spec of the made configs.
	// +required
	Spec RKE2ConfigSpec `json:"spec"`
}

// RKE2ConfigTemplate is a template for RKE2Configs, used by MachineDeployments, MachinePools and ClusterClasses.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rke2configtemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1_v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=bootstrap-rke2"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="ClusterClass")].name`,description="ClusterClass that owns the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type RKE2ConfigTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec holds the template.
	// +required
	Spec RKE2ConfigTemplateSpec `json:"spec"`
}

// RKE2ConfigTemplateList is a list of RKE2ConfigTemplates.
//
// +kubebuilder:object:root=true
type RKE2ConfigTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the templates of the list.
	Items []RKE2ConfigTemplate `json:"items"`
}
