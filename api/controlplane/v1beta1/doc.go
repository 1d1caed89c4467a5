// Package v1beta1 holds the control plane API of the RKE2 provider as older manifests and clients know it
// (controlplane.cluster.x-k8s.io/v1beta1). It is served beside v1beta2, which is stored; the conversion between the
// two loses nothing.
//
// What v1beta1 and v1beta2 have in common is not repeated here: those fields have the types of package v1beta2. The
// machine template, two deprecated fields of the spec and the status differ. The rules by which a control plane is
// accepted stand on v1beta2 and in the admission webhook, which sees every object as v1beta2.
//
// +kubebuilder:object:generate=true
// +groupName=controlplane.cluster.x-k8s.io
package v1beta1
