// Package v1beta2 holds the control plane API of the RKE2 provider: RKE2ControlPlane, which keeps a number of
// RKE2 servers of one version running, and RKE2ControlPlaneTemplate for ClusterClasses.
//
// The JSON names, types and enums are those of the API that RKE2 users already have manifests for
// (controlplane.cluster.x-k8s.io/v1beta2), so stored objects and manifests stay valid. Status, labels and
// subresources follow the Cluster API contract v1beta2 for control planes; condition names are those of
// KubeadmControlPlane, because Cluster API itself sorts and groups conditions by them.
//
// +kubebuilder:object:generate=true
// +groupName=controlplane.cluster.x-k8s.io
package v1beta2
