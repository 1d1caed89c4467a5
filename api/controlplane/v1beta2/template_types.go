package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
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
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec is the spec of the made control planes.
	// +required
	Spec RKE2ControlPlaneTemplateResourceSpec `json:"spec"`
}

// RKE2ControlPlaneTemplateResourceSpec is RKE2ControlPlaneSpec without replicas and version, which come from the
// Cluster's topology.
type RKE2ControlPlaneTemplateResourceSpec struct {
	bootstrapv1.RKE2ConfigSpec `json:",inline"`

	// machineTemplate is what the servers' Machines are made from.
	// +optional
	MachineTemplate RKE2ControlPlaneMachineTemplate `json:"machineTemplate,omitempty,omitzero"`

	// serverConfig holds the settings only servers have.
	// +optional
	ServerConfig RKE2ServerConfig `json:"serverConfig,omitempty,omitzero"`

	// manifestsConfigMapReference names a ConfigMap. Each of its keys becomes a file of that name in the servers'
	// manifests folder, which RKE2 applies to the cluster. Not set namespace means that of the control plane.
	// +optional
	ManifestsConfigMapReference corev1.ObjectReference `json:"manifestsConfigMapReference,omitempty,omitzero"`

	// registrationMethod says through which address nodes join (port 9345). Not set, and control-plane-endpoint, mean
	// the endpoint of the Cluster.
	// +optional
	RegistrationMethod RegistrationMethod `json:"registrationMethod,omitempty"`

	// registrationAddress is the address nodes join through when registrationMethod is address.
	// +optional
	RegistrationAddress string `json:"registrationAddress,omitempty"`

	// rolloutStrategy says how servers are replaced when something about them has to change. Not set means a rolling
	// update with maxSurge 1.
	// +optional
	RolloutStrategy *RolloutStrategy `json:"rolloutStrategy,omitempty"`

	// remediationStrategy limits how servers a MachineHealthCheck found unhealthy are replaced.
	// +optional
	RemediationStrategy *RemediationStrategy `json:"remediationStrategy,omitempty"`

	// rollout says when servers are replaced although nothing about them has changed.
	// +optional
	Rollout RolloutSpec `json:"rollout,omitempty,omitzero"`

	// remediation is remediationStrategy with the names KubeadmControlPlane gives its fields. Give each setting in one of
	// the two.
	// +optional
	Remediation RemediationSpec `json:"remediation,omitempty,omitzero"`
}

// RKE2ControlPlaneTemplate is a template for RKE2ControlPlanes, used by ClusterClasses.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rke2controlplanetemplates,scope=Namespaced,categories=cluster-api,shortName=rke2ct
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1_v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=control-plane-rke2"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=`.metadata.ownerReferences[?(@.kind=="ClusterClass")].name`,description="ClusterClass that owns the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type RKE2ControlPlaneTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec holds the template.
	// +required
	Spec RKE2ControlPlaneTemplateSpec `json:"spec"`
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
