// Package v1beta1 holds the bootstrap API of the RKE2 provider as older manifests and clients know it
// (bootstrap.cluster.x-k8s.io/v1beta1). It is served beside v1beta2, which is stored; the conversion between the two
// loses nothing.
//
// What v1beta1 and v1beta2 have in common is not repeated here: the specs are the types of package v1beta2. Only the
// status differs.
//
// +kubebuilder:object:generate=true
// +groupName=bootstrap.cluster.x-k8s.io
package v1beta1
