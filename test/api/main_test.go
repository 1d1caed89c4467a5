package api_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

const (
	namespace = "default"
	crdFolder = "../../config/crd/bases"
)

// kube talks to the API server all tests of the package share.
var kube client.Client

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

// run starts the API server, runs the tests and stops it again.
func run(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 0, fmt.Errorf("KUBEBUILDER_ASSETS is not set: these tests need a folder with etcd and kube-apiserver")
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apiextensionsv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return 0, fmt.Errorf("register kinds: %w", err)
		}
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:     []string{crdFolder},
		ErrorIfCRDPathMissing: true,
		// On a busy machine it takes a while.
		ControlPlaneStartTimeout: 3 * time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	config, err := env.Start()
	if err != nil {
		return 0, fmt.Errorf("start API server: %w", err)
	}
	defer func() {
		if stopErr := env.Stop(); stopErr != nil && err == nil {
			err = fmt.Errorf("stop API server: %w", stopErr)
		}
	}()
	config.Timeout = 30 * time.Second
	if kube, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 0, fmt.Errorf("make client: %w", err)
	}
	return m.Run(), nil
}

// create stores an object until the end of the test.
func create(ctx context.Context, t *testing.T, object client.Object) {
	t.Helper()
	if err := kube.Create(ctx, object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kube.Delete(context.WithoutCancel(ctx), object); err != nil {
			t.Error(err)
		}
	})
}
