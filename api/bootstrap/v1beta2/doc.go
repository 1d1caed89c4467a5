// Package v1beta2 holds the bootstrap API of the RKE2 provider: RKE2Config, which describes how one
// machine becomes an RKE2 server or agent, and RKE2ConfigTemplate, from which such configs are made.
//
// The JSON names, types and enums are those of the API that RKE2 users already have manifests for
// (bootstrap.cluster.x-k8s.io/v1beta2), so stored objects and manifests stay valid. The kinds follow the
// Cluster API contract v1beta2 for bootstrap configs.
//
// +kubebuilder:object:generate=true
// +groupName=bootstrap.cluster.x-k8s.io
package v1beta2
