package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// RKE2ConfigTemplate is a template for RKE2Configs, used by MachineDeployments, MachinePools and ClusterClasses. It
// differs from that of v1beta2 in nothing but its version.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rke2configtemplates,scope=Namespaced,categories=cluster-api
type RKE2ConfigTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec holds the template.
	// +required
	Spec bootstrapv1.RKE2ConfigTemplateSpec `json:"spec"`
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
