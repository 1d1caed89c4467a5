package certificates

import (
	"context"
	"fmt"
	"os"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/test/apiserver"
)

var (
	// config reaches the API server all tests of the package share.
	config *rest.Config
	// kube talks to it.
	kube client.Client
)

func TestMain(m *testing.M) {
	os.Exit(apiserver.Main(m, apiserver.Options{}, func(_ context.Context, s *apiserver.Server) error {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme} {
			if err := add(scheme); err != nil {
				return fmt.Errorf("register kinds: %w", err)
			}
		}
		config = s.Config
		var err error
		kube, err = s.Client(scheme)
		return err
	}))
}
