// Package conversiontest gives tests a real API server that stores this project's kinds and has a manager of theirs
// convert them.
package conversiontest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/drover-project/drover/internal/conversion"
)

// Environment is an API server that calls for conversion at an address where Serve answers.
type Environment struct {
	// Config reaches the API server.
	Config *rest.Config
	// Client talks to it without a cache.
	Client client.Client

	scheme  *runtime.Scheme
	webhook envtest.WebhookInstallOptions
}

// CRDs reads the generated CRDs in a folder.
func CRDs(t *testing.T, folder string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	options := &envtest.CRDInstallOptions{Paths: []string{folder}, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(options); err != nil {
		t.Fatalf("read CRDs: %v", err)
	}
	return options.CRDs
}

// Start starts an API server with CRDs until the end of the test. The binaries are found through KUBEBUILDER_ASSETS.
// The conversion stanza of the CRDs is set in place. The scheme has to know apiextensions and both versions of the
// kinds.
func Start(t *testing.T, scheme *runtime.Scheme, crds []*apiextensionsv1.CustomResourceDefinition) *Environment {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: this test needs a folder with etcd and kube-apiserver")
	}
	server := &envtest.Environment{
		Scheme: scheme,
		CRDs:   crds,
		// The kinds bear no marker of being convertible: their converters stand in a package of their own.
		WebhookInstallOptions:   envtest.WebhookInstallOptions{IgnoreSchemeConvertible: true},
		ControlPlaneStopTimeout: time.Minute,
	}
	config, err := server.Start()
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	config.Timeout = 30 * time.Second
	env := &Environment{Config: config, scheme: scheme, webhook: server.WebhookInstallOptions}
	if env.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return env
}

// Serve runs a manager that serves conversion until the end of the test. add, unless it is nil, gives it more to do.
func (e *Environment) Serve(t *testing.T, add func(context.Context, ctrl.Manager) error) {
	t.Helper()
	mgr, err := ctrl.NewManager(e.Config, ctrl.Options{
		Scheme:  e.scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: e.webhook.LocalServingHost, Port: e.webhook.LocalServingPort, CertDir: e.webhook.LocalServingCertDir,
		}),
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
