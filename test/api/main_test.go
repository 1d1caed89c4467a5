package api_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/test/apiserver"
)

const namespace = "default"

// kube talks to the API server all tests of the package share.
var kube client.Client

func TestMain(m *testing.M) {
	os.Exit(apiserver.Main(m, apiserver.Options{Kinds: []apiserver.Kinds{apiserver.Drover}}, func(_ context.Context, s *apiserver.Server) error {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{
			apiextensionsv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme,
		} {
			if err := add(scheme); err != nil {
				return fmt.Errorf("register kinds: %w", err)
			}
		}
		var err error
		kube, err = s.Client(scheme)
		return err
	}))
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
