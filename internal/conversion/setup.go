// Package conversion converts the kinds between the served API versions. The
// hub is v1beta2, which is stored.
package conversion

import (
	ctrl "sigs.k8s.io/controller-runtime"
)

// Options chooses the kinds whose conversion is served.
type Options struct {
	// Bootstrap and ControlPlane choose the providers.
	Bootstrap, ControlPlane bool
}

// SetupWithManager serves conversion at the manager's webhook server.
func SetupWithManager(_ ctrl.Manager, _ Options) error {
	return nil
}
