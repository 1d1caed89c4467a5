// Package admission defaults and validates the kinds when they are created and
// changed. The rules are functions on values; here they are put behind the
// paths of webhooks.
package admission

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/drover-project/drover/internal/admission/bootstrap"
	"github.com/drover-project/drover/internal/admission/controlplane"
)

// Options chooses the kinds and what is allowed.
type Options struct {
	// Bootstrap and ControlPlane choose the providers.
	Bootstrap, ControlPlane bool
	// CrossNamespaceReferences allows specs to name Secrets and ConfigMaps of other namespaces.
	CrossNamespaceReferences bool
}

// SetupWithManager serves the admission webhooks at the manager's webhook server.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if o.Bootstrap {
		if err := bootstrap.SetupWithManager(mgr, o.CrossNamespaceReferences); err != nil {
			return fmt.Errorf("bootstrap provider: %w", err)
		}
	}
	if o.ControlPlane {
		if err := controlplane.SetupWithManager(mgr, o.CrossNamespaceReferences); err != nil {
			return fmt.Errorf("control-plane provider: %w", err)
		}
	}
	return nil
}
