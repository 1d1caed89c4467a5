// Package apiserver starts a real API server, with the etcd it stores in, for
// the length of a test (Start) or of all tests of a package (Main).
//
// The programs are those that `make envtest` puts into bin/envtest, or those in
// the folder that KUBEBUILDER_ASSETS names. What they listen on is handed out by
// package loopback. They are stopped whatever becomes of the tests.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/drover-project/drover/test/loopback"
)

const (
	// startLimit and stopLimit are for busy machines. Mostly it takes seconds.
	startLimit = 5 * time.Minute
	stopLimit  = time.Minute
	// requestLimit ends a request that hangs.
	requestLimit = 30 * time.Second
)

// Options says what the API server knows from the beginning.
type Options struct {
	// Kinds and CRDs are the kinds it serves besides its own.
	Kinds []Kinds
	CRDs  []*apiextensionsv1.CustomResourceDefinition
	// Converted makes it ask the webhook server to convert these kinds. The
	// stanza of those in CRDs is set in place.
	Converted bool
	// Mutating and Validating make it ask the webhook server for admission.
	Mutating   []*admissionv1.MutatingWebhookConfiguration
	Validating []*admissionv1.ValidatingWebhookConfiguration
	// Arguments adjusts its command line, unless it is nil.
	Arguments func(*envtest.Arguments)
}

// Server is a running API server.
type Server struct {
	// Config reaches it with all rights.
	Config *rest.Config
	// Webhooks is where it expects the webhook server.
	Webhooks envtest.WebhookInstallOptions

	environment *envtest.Environment
	ctx         context.Context
	end         context.CancelFunc
	background  []chan error
}

// Start starts an API server until the end of the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := start(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Main runs the tests of a package, for its TestMain, beside an API server that
// prepare has made ready for them. It returns the exit code. The context of
// prepare ends with the tests.
func Main(m *testing.M, o Options, prepare func(context.Context, *Server) error) int {
	code, err := run(m.Run, o, prepare)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

func run(tests func() int, o Options, prepare func(context.Context, *Server) error) (code int, err error) {
	s, err := start(context.Background(), o)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := prepare(s.ctx, s); err != nil {
		return 1, err
	}
	return tests(), nil
}

func start(ctx context.Context, o Options) (*Server, error) {
	environment, err := newEnvironment(ctx, o)
	if err != nil {
		return nil, err
	}
	config, err := environment.Start()
	if err != nil {
		// Of what it started, it leaves behind what did not fail.
		return nil, errors.Join(fmt.Errorf("start an API server: %w", err), environment.Stop())
	}
	s := &Server{Config: config, Webhooks: environment.WebhookInstallOptions, environment: environment}
	s.ctx, s.end = context.WithCancel(ctx)
	return s, nil
}

func newEnvironment(ctx context.Context, o Options) (*envtest.Environment, error) {
	serving := loopback.Address()
	environment := &envtest.Environment{
		CRDs: o.CRDs, ErrorIfCRDPathMissing: true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: startLimit},
		ControlPlaneStartTimeout: startLimit, ControlPlaneStopTimeout: stopLimit,
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			MutatingWebhooks: o.Mutating, ValidatingWebhooks: o.Validating,
			// Kinds bear no marker of being convertible: their converters stand
			// in a package of their own.
			IgnoreSchemeConvertible: o.Converted,
			LocalServingHost:        serving.Addr().String(), LocalServingPort: int(serving.Port()),
		},
	}
	for _, kinds := range o.Kinds {
		folder, err := kinds.folder(ctx)
		if err != nil {
			return nil, err
		}
		environment.CRDDirectoryPaths = append(environment.CRDDirectoryPaths, folder)
	}
	programs, err := programs(ctx)
	if err != nil {
		return nil, err
	}
	peer := url.URL{Scheme: "http", Host: loopback.Address().String()}
	etcd := &envtest.Etcd{
		Path: filepath.Join(programs, "etcd"),
		URL:  &url.URL{Scheme: "http", Host: loopback.Address().String()},
	}
	etcd.Configure().Set("listen-peer-urls", peer.String())
	environment.ControlPlane.Etcd = etcd
	api, secure := environment.ControlPlane.GetAPIServer(), loopback.Address()
	api.Path = filepath.Join(programs, "kube-apiserver")
	api.Address, api.Port = secure.Addr().String(), strconv.Itoa(int(secure.Port()))
	if o.Arguments != nil {
		o.Arguments(api.Configure())
	}
	return environment, nil
}

// programs is the folder with etcd and kube-apiserver.
func programs(ctx context.Context) (string, error) {
	folder := os.Getenv("KUBEBUILDER_ASSETS")
	if folder == "" {
		root, err := moduleFolder(ctx, droverModule)
		if err != nil {
			return "", err
		}
		folder = filepath.Join(root, "bin", "envtest")
	}
	for _, program := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(folder, program)); err != nil {
			return "", fmt.Errorf("find the API server; `make envtest` builds it: %w", err)
		}
	}
	return folder, nil
}

// stop ends what runs in the background, waits for it and stops the server.
func (s *Server) stop() error {
	s.end()
	var errs []error
	for _, ended := range s.background {
		errs = append(errs, <-ended)
	}
	if err := s.environment.Stop(); err != nil {
		errs = append(errs, fmt.Errorf("stop the API server: %w", err))
	}
	return errors.Join(errs...)
}

// Go runs something beside the tests, mostly a manager. It is ended before the
// API server is stopped, and is not expected to fail.
func (s *Server) Go(run func(context.Context) error) {
	ended := make(chan error, 1)
	s.background = append(s.background, ended)
	go func() { ended <- run(s.ctx) }()
}

// Client returns a client of the API server without a cache.
func (s *Server) Client(scheme *runtime.Scheme) (client.Client, error) {
	config := rest.CopyConfig(s.Config)
	config.Timeout = requestLimit
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server: %w", err)
	}
	return c, nil
}

// WebhookServer returns a webhook server for a manager, where the API server
// expects it.
func (s *Server) WebhookServer() webhook.Server {
	return webhook.NewServer(webhook.Options{
		Host: s.Webhooks.LocalServingHost, Port: s.Webhooks.LocalServingPort, CertDir: s.Webhooks.LocalServingCertDir,
	})
}
