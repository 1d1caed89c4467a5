package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// RKE2ControlPlaneSpec is the wanted control plane: how many servers, of which version, and how they are set up.
// The fields of RKE2ConfigSpec are inlined and are what every server's RKE2Config gets.
//
// Rules about several fields let pass what a stored object had wrong already: its owner may change the rest.
//
// +kubebuilder:validation:XValidation:rule="has(self.machineTemplate) && has(self.machineTemplate.spec) && has(self.machineTemplate.spec.infrastructureRef)",message="machineTemplate.spec.infrastructureRef is required: name the infrastructure machine template (apiGroup, kind, name) the servers are made from"
// +kubebuilder:validation:XValidation:rule=`self.?version.orValue("") != "" || (oldSelf.hasValue() && oldSelf.?version.orValue("") == "")`,message="version is required: set it to the RKE2 release of the servers, for example v1.36.3+rke2r1",fieldPath=".version",reason=FieldValueRequired,optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule=`self.?registrationMethod.orValue("") != "address" || self.?registrationAddress.orValue("") != "" || (oldSelf.?registrationMethod.orValue("") == "address" && oldSelf.?registrationAddress.orValue("") == "")`,message="registrationAddress is required with registrationMethod address: set it to the host name or address nodes join through",fieldPath=".registrationAddress",reason=FieldValueRequired,optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="self.?rolloutStrategy.?rollingUpdate.?maxSurge.orValue(1) != 0 || self.?replicas.orValue(1) >= 3 || (oldSelf.?rolloutStrategy.?rollingUpdate.?maxSurge.orValue(1) == 0 && oldSelf.?replicas.orValue(1) < 3)",message="maxSurge 0 needs replicas of at least 3: a server is removed before its replacement exists, and fewer would lose etcd's quorum; set maxSurge to 1 or raise replicas",fieldPath=".rolloutStrategy.rollingUpdate.maxSurge",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="self.?rollout.?strategy.?rollingUpdate.?maxSurge.orValue(1) != 0 || self.?replicas.orValue(1) >= 3 || (oldSelf.?rollout.?strategy.?rollingUpdate.?maxSurge.orValue(1) == 0 && oldSelf.?replicas.orValue(1) < 3)",message="maxSurge 0 needs replicas of at least 3: a server is removed before its replacement exists, and fewer would lose etcd's quorum; set maxSurge to 1 or raise replicas",fieldPath=".rollout.strategy.rollingUpdate.maxSurge",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!has(self.serverConfig) || !has(self.serverConfig.cniMultusEnable) || !self.serverConfig.cniMultusEnable || (has(self.serverConfig.cni) && size(self.serverConfig.cni) > 0)",message="cniMultusEnable needs cni: Multus only adds networks to another CNI; set serverConfig.cni to the CNI it should use",fieldPath=".serverConfig.cni"
type RKE2ControlPlaneSpec struct {
	bootstrapv1.RKE2ConfigSpec `json:",inline"`

	// replicas is the number of servers. Not set means 1. Use an odd number: an even one adds a server that can fail
	// without adding a failure that can be survived.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= 1",message="replicas must be at least 1: a control plane with no server has no etcd and cannot come back; delete the Cluster to remove it"
	Replicas *int32 `json:"replicas,omitempty"`

	// version is the RKE2 release of the servers, for example v1.36.3+rke2r1. It is required, and can only go forward, one
	// minor version at a time.
	// +optional
	// +kubebuilder:validation:XValidation:rule="size(self) == 0 || self.matches('v[0-9]+[.][0-9]+[.][0-9]+(-[0-9A-Za-z.-]+)?[+]rke2r[0-9]+')",message="version must be an RKE2 release, vX.Y.Z+rke2rN (for example v1.36.3+rke2r1) or a pre-release, vX.Y.Z-rcN+rke2rN: see https://github.com/rancher/rke2/releases"
	Version string `json:"version,omitempty"`

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
	// the endpoint of the Cluster. A change replaces the servers one after the other.
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

// RKE2ControlPlane keeps a number of RKE2 servers of one version running.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rke2controlplanes,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1_v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=control-plane-rke2"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the control plane can serve and has etcd quorum"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas",description="Wanted number of servers"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.replicas",description="Number of servers"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas",description="Number of servers with a ready Machine"
// +kubebuilder:printcolumn:name="Available",type="integer",JSONPath=".status.availableReplicas",description="Number of servers with an available Machine"
// +kubebuilder:printcolumn:name="Up-to-date",type="integer",JSONPath=".status.upToDateReplicas",description="Number of servers that match the spec"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=`.status.conditions[?(@.type=="Paused")].status`,description="Whether reconciliation is paused",priority=10
// +kubebuilder:printcolumn:name="Initialized",type="boolean",JSONPath=".status.initialization.controlPlaneInitialized",description="Whether the first server came up"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Version",type="string",JSONPath=".spec.version",description="Wanted RKE2 release"
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

// GetConditions returns the conditions, for Cluster API's condition helpers.
func (c *RKE2ControlPlane) GetConditions() []metav1.Condition {
	return c.Status.Conditions
}

// SetConditions replaces the conditions, for Cluster API's condition helpers.
func (c *RKE2ControlPlane) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
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
