package bootstrap

import (
	"context"
	"os"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/drover-project/drover/test/apiserver"
)

// api talks to the test API server without a cache; the controller runs beside it.
var api client.Client

// underTest is the running reconciler.
var underTest *Reconciler

func TestMain(m *testing.M) {
	log.SetLogger(klog.Background())
	os.Exit(apiserver.Main(m, apiserver.Options{
		Kinds: []apiserver.Kinds{apiserver.Drover, apiserver.ClusterAPI},
		CRDs:  []*apiextensionsv1.CustomResourceDefinition{apiserver.InfrastructureKind("infrastructure.cluster.x-k8s.io", "v1", "TestMachine")},
	}, prepare))
}

// prepare runs the reconciler.
func prepare(ctx context.Context, s *apiserver.Server) error {
	scheme, err := apiserver.Scheme()
	if err != nil {
		return err
	}
	if api, err = s.Client(scheme); err != nil {
		return err
	}
	manager, err := s.Manager(scheme)
	if err != nil {
		return err
	}
	underTest = &Reconciler{Client: manager.GetClient(), APIReader: manager.GetAPIReader()}
	if err := underTest.SetupWithManager(ctx, manager, controller.Options{MaxConcurrentReconciles: 4}); err != nil {
		return err
	}
	s.Go(manager.Start)
	return nil
}
