// Package conversiontest gives tests a real API server that stores this project's kinds and has a manager of theirs
// convert them.
package conversiontest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/drover-project/drover/internal/conversion"
	"github.com/drover-project/drover/test/apiserver"
)

// Environment is an API server that calls for conversion at an address where Serve answers.
type Environment struct {
	// Client talks to it without a cache.
	Client client.Client

	server *apiserver.Server
}

// Start starts an API server with CRDs until the end of the test. The conversion stanza of the CRDs is set in place. The
// scheme has to know apiextensions and both versions of the kinds.
func Start(t *testing.T, scheme *runtime.Scheme, crds []*apiextensionsv1.CustomResourceDefinition) *Environment {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	env := &Environment{server: apiserver.Start(t, apiserver.Options{CRDs: crds, Converted: true})}
	var err error
	if env.Client, err = env.server.Client(scheme); err != nil {
		t.Fatal(err)
	}
	return env
}

// Serve runs a manager that serves conversion until the end of the test. add, unless it is nil, gives it more to do.
func (e *Environment) Serve(t *testing.T, add func(context.Context, ctrl.Manager) error) {
	t.Helper()
	mgr, err := ctrl.NewManager(e.server.Config, ctrl.Options{
		Scheme: e.Client.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, WebhookServer: e.server.WebhookServer(),
	})
	if err != nil {
		t.Fatalf("create a manager: %v", err)
	}
	if err := conversion.SetupWithManager(mgr, conversion.Options{Bootstrap: true, ControlPlane: true}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	if add != nil {
		if err := add(ctx, mgr); err != nil {
			t.Fatal(err)
		}
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the manager ended: %v", err)
		}
	})
	select {
	case <-mgr.Elected():
	case err := <-stopped:
		stopped <- nil
		t.Fatalf("start the manager: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the manager did not start within a minute")
	}
	e.waitForWebhook(t, mgr)
}

// waitForWebhook returns when the webhook server answers.
func (e *Environment) waitForWebhook(t *testing.T, mgr ctrl.Manager) {
	t.Helper()
	started := mgr.GetWebhookServer().StartedChecker()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for err := started(nil); err != nil; err = started(nil) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the webhook server does not answer: %v", err)
		}
	}
}
