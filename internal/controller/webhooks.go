package controller

import (
	"crypto/tls"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/drover-project/drover/internal/admission"
	"github.com/drover-project/drover/internal/certificates"
	"github.com/drover-project/drover/internal/conversion"
)

// Webhooks says how admission and conversion webhooks are served.
type Webhooks struct {
	// Port is the port of the HTTPS server. 0 serves none.
	Port int
	// CertDir is the folder with tls.crt and tls.key.
	CertDir string
	// TLS adjusts versions and cipher suites.
	TLS []func(*tls.Config)
	// Secret names the Secret mounted as CertDir that the manager keeps the
	// certificate in, in the namespace SecretNamespace, and Service the Service
	// it is called through. Without a Secret somebody else provides the files.
	Secret, SecretNamespace, Service string
	// CrossNamespaceReferences allows specs to name Secrets and ConfigMaps of
	// other namespaces.
	CrossNamespaceReferences bool
}

func (w Webhooks) server() webhook.Server {
	return webhook.NewServer(webhook.Options{Port: w.Port, CertDir: w.CertDir, TLSOpts: w.TLS})
}

// addWebhooks serves conversion and admission, and returns a channel that is
// closed once they can be served.
func addWebhooks(mgr ctrl.Manager, o Options) (<-chan struct{}, error) {
	if err := conversion.SetupWithManager(mgr, conversion.Options{Bootstrap: o.Bootstrap, ControlPlane: o.ControlPlane}); err != nil {
		return nil, fmt.Errorf("serve conversion: %w", err)
	}
	if err := admission.SetupWithManager(mgr, admission.Options{
		Bootstrap: o.Bootstrap, ControlPlane: o.ControlPlane, CrossNamespaceReferences: o.Webhooks.CrossNamespaceReferences,
	}); err != nil {
		return nil, fmt.Errorf("serve admission: %w", err)
	}
	ready := make(chan struct{})
	if o.Webhooks.Secret == "" {
		close(ready)
		return ready, nil
	}
	return certificates.SetupWithManager(mgr, certificates.Options{
		Namespace: o.Webhooks.SecretNamespace, Secret: o.Webhooks.Secret, Service: o.Webhooks.Service, Dir: o.Webhooks.CertDir,
		Bootstrap: o.Bootstrap, ControlPlane: o.ControlPlane,
	})
}
