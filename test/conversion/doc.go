// Package conversion holds only tests. They let a real kube-apiserver call the conversion webhook, and check that
// manifests of v1beta1 are stored as v1beta2 and come back as they were written.
//
// They need the binaries of a control plane: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver.
package conversion
