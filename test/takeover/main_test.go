package takeover_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/drover-project/drover/internal/act"
	product "github.com/drover-project/drover/internal/controller"
	"github.com/drover-project/drover/internal/controller/bootstrap"
	"github.com/drover-project/drover/internal/controller/controlplane"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/upkeep"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/workload"
	"github.com/drover-project/drover/test/apiserver"
)

var (
	// api talks to the API server without a cache.
	api client.Client
	// servers and configs are the running reconcilers.
	servers *controlplane.Reconciler
	configs *bootstrap.Reconciler
	// seen is what they are made to see of workload clusters.
	seen = &workloads{}
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(apiserver.Main(m, apiserver.Options{
		Kinds: []apiserver.Kinds{apiserver.Drover, apiserver.ClusterAPI},
		CRDs: []*apiextensionsv1.CustomResourceDefinition{
			apiserver.InfrastructureKind(infraGroup, "v1", "TestMachine"), apiserver.InfrastructureKind(infraGroup, "v1", "TestMachineTemplate"),
		},
	}, prepare))
}

// prepare runs both reconcilers as the product does, with everything but the
// workload clusters.
func prepare(ctx context.Context, s *apiserver.Server) error {
	scheme, err := product.Scheme()
	if err != nil {
		return err
	}
	if api, err = s.Client(scheme); err != nil {
		return err
	}
	mgr, err := s.Manager(scheme)
	if err != nil {
		return err
	}
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	connector := &connect.Connector{Secrets: c, Clusters: workload.New(unreachable{}), Members: etcd.NewPool(time.Now)}
	recorder := mgr.GetEventRecorder("test")
	seen.observer = observe.New(observe.Options{Client: c, Live: live, Connector: connector})
	servers = &controlplane.Reconciler{
		Client: c, Live: live, Observer: seen,
		Actor:    act.New(act.Options{Client: c, Live: live, Connector: connector, Recorder: recorder}),
		Keeper:   &upkeep.Upkeep{Client: c, Live: live, Nodes: unreachable{}, Now: time.Now},
		Clusters: unreachable{}, Recorder: recorder,
	}
	configs = &bootstrap.Reconciler{Client: c, APIReader: live}
	options := controller.Options{MaxConcurrentReconciles: 4}
	if err := servers.SetupWithManager(mgr, nil, options); err != nil {
		return err
	}
	if err := configs.SetupWithManager(ctx, mgr, options); err != nil {
		return err
	}
	s.Go(mgr.Start)
	return nil
}
