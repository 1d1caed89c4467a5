package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RKE2ConfigSpec describes what has to be on a machine, and what has to run there, for it to become an RKE2
// node. It is used by RKE2Config, by RKE2ConfigTemplate, and inlined in the control plane's spec.
type RKE2ConfigSpec struct {
	// files are written to the machine before RKE2 is installed, after the files the provider itself needs.
	// +optional
	Files []File `json:"files,omitempty"`

	// preRKE2Commands run before RKE2 is installed, in order.
	// +optional
	PreRKE2Commands []string `json:"preRKE2Commands,omitempty"`

	// postRKE2Commands run after the RKE2 service was started, in order.
	// +optional
	PostRKE2Commands []string `json:"postRKE2Commands,omitempty"`

	// privateRegistriesConfig becomes /etc/rancher/rke2/registries.yaml: mirrors, credentials and TLS settings of
	// the image registries containerd pulls from.
	// +optional
	PrivateRegistriesConfig Registry `json:"privateRegistriesConfig,omitempty,omitzero"`

	// agentConfig holds the settings every node has, server or agent.
	// +optional
	AgentConfig RKE2AgentConfig `json:"agentConfig,omitempty,omitzero"`

	// gzipUserData compresses the bootstrap data with gzip. Use it where the infrastructure limits the size of user
	// data and decompresses it on the machine. Not set means no compression.
	// +optional
	GzipUserData *bool `json:"gzipUserData,omitempty"`
}

// RKE2ConfigStatus reports what has been made of an RKE2Config.
type RKE2ConfigStatus struct {
	// conditions describe the current state of the config. Known types: Ready, DataSecretAvailable,
	// CertificatesAvailable, Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells Cluster API whether the bootstrap data exist.
	// +optional
	Initialization RKE2ConfigInitializationStatus `json:"initialization,omitempty,omitzero"`

	// dataSecretName is the name of the Secret, in the namespace of the config, that holds the bootstrap data.
	// +optional
	DataSecretName *string `json:"dataSecretName,omitempty"`

	// observedGeneration is the generation of the spec this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// RKE2ConfigInitializationStatus is the part of the status Cluster API waits for before it creates a machine.
// +kubebuilder:validation:MinProperties=1
type RKE2ConfigInitializationStatus struct {
	// dataSecretCreated is true once the Secret named by status.dataSecretName exists.
	// +optional
	DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
}

// RKE2Config describes how one machine becomes an RKE2 node. Its controller turns it into the bootstrap data
// (cloud-config or Ignition) the infrastructure provider hands to the machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=rke2configs,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1_v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=bootstrap-rke2"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Data secret created",type="boolean",JSONPath=".status.initialization.dataSecretCreated",description="Whether the bootstrap data exist"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type RKE2Config struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the machine should become.
	// +optional
	Spec RKE2ConfigSpec `json:"spec,omitempty,omitzero"`

	// status is what has been made of it.
	// +optional
	Status RKE2ConfigStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions, for Cluster API's condition helpers.
func (c *RKE2Config) GetConditions() []metav1.Condition {
	return c.Status.Conditions
}

// SetConditions replaces the conditions, for Cluster API's condition helpers.
func (c *RKE2Config) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
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
