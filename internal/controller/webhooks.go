package controller

import (
	"crypto/tls"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/drover-project/drover/internal/admission"
	"github.com/drover-project/drover/internal/certificates"
	"github.com/drover-project/drover/internal/conversion"
)

// Webhooks says how admission and conversion webhooks are served.
type Webhooks struct {
	// Port is the port of the HTTPS server. 0 serves none.
	Port int
	// CertDir is the folder with tls.crt and tls.key, when there is no Secret.
	CertDir string
	// TLS adjusts versions and cipher suites.
	TLS []func(*tls.Config)
	// Secret names the Secret in the namespace SecretNamespace that the manager
	// keeps its certificate in, and Service the Service in that namespace that
	// the webhooks are called through. Without a Secret somebody else provides
	// the files, and tells the callers whom to trust.
	Secret, SecretNamespace, Service string
	// CrossNamespaceReferences allows specs to name Secrets and ConfigMaps of
	// other namespaces.
	CrossNamespaceReferences bool
}

// The names that the released manifests give to what calls the webhooks.
const (
	bootstrapPrefix    = "rke2-bootstrap-"
	controlPlanePrefix = "rke2-control-plane-"
	mutatingWebhooks   = "mutating-webhook-configuration"
	validatingWebhooks = "validating-webhook-configuration"
)

// webhookServer returns the server of the webhooks, or nil if there is none.
func (o Options) webhookServer(config *rest.Config, scheme *runtime.Scheme) (webhook.Server, error) {
	w := o.Webhooks
	if w.Port == 0 {
		return nil, nil
	}
	serve := webhook.Options{Port: w.Port, CertDir: w.CertDir, TLSOpts: w.TLS}
	if w.Secret == "" {
		return webhook.NewServer(serve), nil
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	server, err := certificates.NewServer(config, live, o.certificate(), serve)
	if err != nil {
		return nil, fmt.Errorf("serve webhooks: %w", err)
	}
	return server, nil
}

// certificate says where the serving certificate is kept and who is told.
func (o Options) certificate() certificates.Options {
	c := certificates.Options{Namespace: o.Webhooks.SecretNamespace, Secret: o.Webhooks.Secret, Service: o.Webhooks.Service}
	if o.Bootstrap {
		c.Mutating = append(c.Mutating, bootstrapPrefix+mutatingWebhooks)
		c.Validating = append(c.Validating, bootstrapPrefix+validatingWebhooks)
		c.Converted = append(c.Converted, "rke2configs.bootstrap.cluster.x-k8s.io", "rke2configtemplates.bootstrap.cluster.x-k8s.io")
	}
	if o.ControlPlane {
		c.Mutating = append(c.Mutating, controlPlanePrefix+mutatingWebhooks)
		c.Validating = append(c.Validating, controlPlanePrefix+validatingWebhooks)
		c.Converted = append(c.Converted, "rke2controlplanes.controlplane.cluster.x-k8s.io", "rke2controlplanetemplates.controlplane.cluster.x-k8s.io")
	}
	return c
}

// addWebhooks serves conversion and admission. The manager is ready when they
// are served; until then no Service leads to it.
//
// Reconcilers need no gate of their own: the manager starts its webhooks
// before its caches, and its caches before its reconcilers, and a cache is
// filled only when all objects that are stored in an older version could be
// converted.
func addWebhooks(mgr ctrl.Manager, o Options) error {
	if err := conversion.SetupWithManager(mgr, conversion.Options{Bootstrap: o.Bootstrap, ControlPlane: o.ControlPlane}); err != nil {
		return fmt.Errorf("serve conversion: %w", err)
	}
	if err := admission.SetupWithManager(mgr, admission.Options{
		Bootstrap: o.Bootstrap, ControlPlane: o.ControlPlane, CrossNamespaceReferences: o.Webhooks.CrossNamespaceReferences,
	}); err != nil {
		return fmt.Errorf("serve admission: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhooks", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return fmt.Errorf("add a health check: %w", err)
	}
	return nil
}
