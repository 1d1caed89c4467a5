// Package controlplane has the defaults and the rules of admission for
// RKE2ControlPlanes, their templates and their scale subresource.
package controlplane
