// Package certmanager stands in for cert-manager as far as the manifests of
// Cluster API providers need it: a Certificate of a self-signed Issuer gets its
// Secret, and the authority of a Certificate gets into the webhook
// configurations and kinds that ask for it.
package certmanager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// syncTimeout bounds the first reading of all objects.
const syncTimeout = time.Minute

var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, admissionv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(s); err != nil {
			// Only types that are not Kubernetes objects fail.
			panic(err)
		}
	}
	return s
}

// Start installs the kinds and the namespace, starts the controllers, and
// returns once they have read all objects. They end with ctx.
func Start(ctx context.Context, config *rest.Config, log logr.Logger) error {
	if err := install(ctx, config); err != nil {
		return fmt.Errorf("stand-in for cert-manager: %w", err)
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Logger: log,
	})
	if err != nil {
		return fmt.Errorf("stand-in for cert-manager: %w", err)
	}
	if err := (&issuer{client: manager.GetClient()}).setUp(manager); err != nil {
		return fmt.Errorf("stand-in for cert-manager: %w", err)
	}
	for _, kind := range injectable() {
		if err := (&injector{client: manager.GetClient(), kind: kind}).setUp(manager); err != nil {
			return fmt.Errorf("stand-in for cert-manager: %w", err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	select {
	case <-manager.Elected():
		return nil
	case err := <-ended:
		return fmt.Errorf("stand-in for cert-manager: %w", err)
	case <-time.After(syncTimeout):
		return errors.New("stand-in for cert-manager: its objects cannot be read from the management cluster")
	}
}
