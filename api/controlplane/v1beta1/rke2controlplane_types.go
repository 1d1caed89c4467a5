package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// RKE2ControlPlaneSpec is the wanted control plane: how many servers, of which version, and how they are set up.
// The fields of RKE2ConfigSpec are inlined and are what every server's RKE2Config gets.
type RKE2ControlPlaneSpec struct {
	bootstrapv1.RKE2ConfigSpec `json:",inline"`

	// replicas is the number of servers. Not set means 1. In a template for a ClusterClass it has no effect: the number
	// comes from the Cluster's topology.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// version is the RKE2 release of the servers, for example v1.36.3+rke2r1. A control plane needs it; in a template for
	// a ClusterClass it has no effect: the version comes from the Cluster's topology.
	// +optional
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.matches('v[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?[+]rke2r[0-9]+')",message="version must be an RKE2 release, vX.Y.Z+rke2rN (for example v1.36.3+rke2r1) or a pre-release, vX.Y.Z-rcN+rke2rN: see https://github.com/rancher/rke2/releases"
	Version string `json:"version,omitempty"`

	// machineTemplate is what the servers' Machines are made from.
	// +optional
	MachineTemplate RKE2ControlPlaneMachineTemplate `json:"machineTemplate,omitempty,omitzero"`

	// serverConfig holds the settings only servers have.
	// +optional
	ServerConfig controlplanev1.RKE2ServerConfig `json:"serverConfig,omitempty,omitzero"`

	// manifestsConfigMapReference names a ConfigMap. Each of its keys becomes a file of that name in the servers'
	// manifests folder, which RKE2 applies to the cluster. Not set namespace means that of the control plane.
	// +optional
	ManifestsConfigMapReference corev1.ObjectReference `json:"manifestsConfigMapReference,omitempty,omitzero"`

	// infrastructureRef names the infrastructure machine template where machineTemplate.infrastructureRef does not.
	//
	// Deprecated: use machineTemplate.infrastructureRef, which wins when both are set.
	// +optional
	InfrastructureRef corev1.ObjectReference `json:"infrastructureRef,omitempty,omitzero"`

	// nodeDrainTimeout is how long draining the node may take where machineTemplate.nodeDrainTimeout does not say.
	//
	// Deprecated: use machineTemplate.nodeDrainTimeout, which wins when both are set.
	// +optional
	NodeDrainTimeout *metav1.Duration `json:"nodeDrainTimeout,omitempty"`

	// registrationMethod says through which address nodes join (port 9345). Not set, and control-plane-endpoint, mean
	// the endpoint of the Cluster.
	// +optional
	RegistrationMethod controlplanev1.RegistrationMethod `json:"registrationMethod,omitempty"`

	// registrationAddress is the address nodes join through when registrationMethod is address.
	// +optional
	RegistrationAddress string `json:"registrationAddress,omitempty"`

	// rolloutStrategy says how servers are replaced when something about them has to change. Not set means a rolling
	// update with maxSurge 1.
	// +optional
	RolloutStrategy *controlplanev1.RolloutStrategy `json:"rolloutStrategy,omitempty"`

	// remediationStrategy limits how servers a MachineHealthCheck found unhealthy are replaced.
	// +optional
	RemediationStrategy *controlplanev1.RemediationStrategy `json:"remediationStrategy,omitempty"`

	// rollout says when servers are replaced although nothing about them has changed.
	// +optional
	Rollout controlplanev1.RolloutSpec `json:"rollout,omitempty,omitzero"`

	// remediation is remediationStrategy with the names KubeadmControlPlane gives its fields. Give each setting in one of
	// the two.
	// +optional
	Remediation controlplanev1.RemediationSpec `json:"remediation,omitempty,omitzero"`
}

// RKE2ControlPlane keeps a number of RKE2 servers of one version running.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rke2controlplanes,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
type RKE2ControlPlane struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the wanted control plane.
	// +optional
	Spec RKE2ControlPlaneSpec `json:"spec,omitempty,omitzero"`

	// status is what was found.
	// +optional
	Status RKE2ControlPlaneStatus `json:"status,omitempty,omitzero"`
}

// RKE2ControlPlaneList is a list of RKE2ControlPlanes.
//
// +kubebuilder:object:root=true
type RKE2ControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the control planes of the list.
	Items []RKE2ControlPlane `json:"items"`
}
