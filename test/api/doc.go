// Package api holds only tests. They apply the generated CustomResourceDefinitions to a real kube-apiserver and check
// what it accepts, what it refuses, and that each refusal tells the user what to do.
//
// They need the binaries of a control plane: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver.
package api
