package bootstrap

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/test/apiserver"
)

// api talks to the test API server without a cache; the controller runs beside it.
var api client.Client

// underTest is the running reconciler.
var underTest *Reconciler

func TestMain(m *testing.M) {
	log.SetLogger(klog.Background())
	os.Exit(apiserver.Main(m, apiserver.Options{Kinds: []apiserver.Kinds{apiserver.Drover, apiserver.ClusterAPI}}, prepare))
}

// prepare runs the reconciler.
func prepare(ctx context.Context, s *apiserver.Server) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme,
		apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	var err error
	if api, err = s.Client(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(s.Config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		// As the product does: no Secret or ConfigMap is read through the cache.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
	})
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
