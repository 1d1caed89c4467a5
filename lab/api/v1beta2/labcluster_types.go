package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// ClusterFinalizer keeps a LabCluster until its load balancer is gone.
const ClusterFinalizer = "labcluster.infrastructure.cluster.x-k8s.io"

// LoadBalancerReadyCondition tells whether the load balancer listens.
const LoadBalancerReadyCondition = "LoadBalancerReady"

// DefaultLoadBalancerPorts are the ports of a load balancer that names none:
// the Kubernetes API and RKE2's registration port.
var DefaultLoadBalancerPorts = []int32{6443, 9345}

// LabClusterSpec says what a cluster needs besides machines.
type LabClusterSpec struct {
	// controlPlaneEndpoint is the address of the load balancer. The lab chooses and sets it.
	// +optional
	ControlPlaneEndpoint clusterv1.APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// loadBalancer describes the load balancer in front of the servers.
	// +optional
	LoadBalancer LoadBalancer `json:"loadBalancer,omitempty,omitzero"`

	// failureDomains are the zones over which machines can be spread. They are only names.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
}

// LoadBalancer describes a TCP load balancer.
type LoadBalancer struct {
	// ports are passed on to the same ports of the servers. The first is the port of the
	// control plane endpoint. The default is 6443 and 9345.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=65535
	Ports []int32 `json:"ports,omitempty"`
}

// LabClusterStatus is what was observed of a LabCluster.
// +kubebuilder:validation:MinProperties=1
type LabClusterStatus struct {
	// conditions of the cluster's infrastructure.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization tells whether the infrastructure was provisioned once.
	// +optional
	Initialization LabClusterInitialization `json:"initialization,omitempty,omitzero"`

	// failureDomains repeats those of the spec, for Cluster API.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
}

// LabClusterInitialization tells how far the first provisioning has come.
// +kubebuilder:validation:MinProperties=1
type LabClusterInitialization struct {
	// provisioned is true once the load balancer listens; machines are not created before.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// LabCluster is the infrastructure of one cluster: an address with a load balancer.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=labclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=infrastructure-lab"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host"
// +kubebuilder:printcolumn:name="Provisioned",type="boolean",JSONPath=".status.initialization.provisioned"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type LabCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec is the desired state.
	// +optional
	Spec LabClusterSpec `json:"spec,omitempty,omitzero"`
	// status is the observed state.
	// +optional
	Status LabClusterStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the object.
func (c *LabCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (c *LabCluster) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// LabClusterList is a list of LabClusters.
//
// +kubebuilder:object:root=true
type LabClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LabCluster `json:"items"`
}

// LabClusterTemplateSpec holds the template of a ClusterClass.
type LabClusterTemplateSpec struct {
	// template is what each LabCluster is made from.
	// +required
	Template LabClusterTemplateResource `json:"template,omitempty,omitzero"`
}

// LabClusterTemplateResource is the data of a LabCluster that is made from a template.
type LabClusterTemplateResource struct {
	// metadata holds labels and annotations of the LabCluster.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec is the spec of the LabCluster.
	// +optional
	Spec LabClusterSpec `json:"spec,omitempty,omitzero"`
}

// LabClusterTemplate is a template for LabClusters, for use in a ClusterClass.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=labclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=infrastructure-lab"
type LabClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec is the desired state.
	// +optional
	Spec LabClusterTemplateSpec `json:"spec,omitempty,omitzero"`
}

// LabClusterTemplateList is a list of LabClusterTemplates.
//
// +kubebuilder:object:root=true
type LabClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LabClusterTemplate `json:"items"`
}
