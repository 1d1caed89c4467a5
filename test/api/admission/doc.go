// Package admission holds only tests. They let a real kube-apiserver call the
// admission webhooks, as the generated configurations say, and check what a user
// sees: defaults, refusals, warnings, and what is stored in the end.
//
// They need the binaries of a control plane: set KUBEBUILDER_ASSETS to a folder
// with etcd and kube-apiserver.
package admission
