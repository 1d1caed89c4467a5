package controlplane

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/trace"
	"github.com/drover-project/drover/internal/upkeep"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
	"github.com/drover-project/drover/test/apiserver"
)

var (
	// api talks to the test API server without a cache.
	api client.Client
	// underTest is the running reconciler.
	underTest *Reconciler
	// seen is what the running reconciler is made to see of workload
	// clusters.
	seen = &workloads{}
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	const infrastructure = "infrastructure.cluster.x-k8s.io"
	os.Exit(apiserver.Main(m, apiserver.Options{
		Kinds: []apiserver.Kinds{apiserver.Drover, apiserver.ClusterAPI},
		CRDs: []*apiextensionsv1.CustomResourceDefinition{
			apiserver.InfrastructureKind(infrastructure, "v1", "TestMachine"), apiserver.InfrastructureKind(infrastructure, "v1", "TestMachineTemplate"),
		},
	}, prepare))
}

// prepare runs the reconciler as the product does, with everything but the
// workload clusters.
func prepare(_ context.Context, s *apiserver.Server) error {
	scheme, err := apiserver.Scheme()
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
	connector := &connect.Connector{Secrets: mgr.GetClient(), Clusters: workload.New(unreachable{}), Members: etcd.NewPool(time.Now)}
	recorder := mgr.GetEventRecorder("test")
	seen.observer = observe.New(observe.Options{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Connector: connector})
	seen.actor = act.New(act.Options{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Connector: connector, Recorder: recorder})
	underTest = &Reconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Observer: seen,
		Actor:    seen,
		Keeper:   &upkeep.Upkeep{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Nodes: unreachable{}, Now: time.Now},
		Clusters: unreachable{},
		Recorder: recorder,
		Trace:    trace.NewWriter(decisions),
	}
	if err := underTest.SetupWithManager(mgr, nil, controller.Options{MaxConcurrentReconciles: 4}); err != nil {
		return err
	}
	// No workload cluster can be watched here.
	underTest.workload.controller = nil
	s.Go(mgr.Start)
	return nil
}

// unreachable is a ClusterCache without a connection.
type unreachable struct{}

func (unreachable) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	return nil, clustercache.ErrClusterNotConnected
}

func (unreachable) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return nil, clustercache.ErrClusterNotConnected
}

func (unreachable) GetRESTConfig(context.Context, client.ObjectKey) (*rest.Config, error) {
	return nil, clustercache.ErrClusterNotConnected
}

func (unreachable) GetHealthCheckingState(context.Context, client.ObjectKey) clustercache.HealthCheckingState {
	return clustercache.HealthCheckingState{}
}

func (unreachable) Watch(context.Context, client.ObjectKey, clustercache.Watcher) error {
	return clustercache.ErrClusterNotConnected
}

// workloads makes up what is seen of workload clusters and lets actions fail,
// by namespace. All else is real.
type workloads struct {
	observer *observe.Observer
	actor    *act.Actor

	mu      sync.Mutex
	overlay map[string]func(*model.Snapshot)
	fault   map[string]func(model.Action) error
}

func (w *workloads) show(namespace string, overlay func(*model.Snapshot)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.overlay == nil {
		w.overlay = map[string]func(*model.Snapshot){}
	}
	w.overlay[namespace] = overlay
}

func (w *workloads) fail(namespace string, fault func(model.Action) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fault == nil {
		w.fault = map[string]func(model.Action) error{}
	}
	w.fault[namespace] = fault
}

// Observe implements Observer.
func (w *workloads) Observe(ctx context.Context, s *scope.Scope) (model.Snapshot, error) {
	snapshot, err := w.observer.Observe(ctx, s)
	w.mu.Lock()
	defer w.mu.Unlock()
	if overlay := w.overlay[s.Cluster.Namespace]; overlay != nil && err == nil {
		overlay(&snapshot)
	}
	return snapshot, err
}

// Do implements Actor.
func (w *workloads) Do(ctx context.Context, s *scope.Scope, snap model.Snapshot, action model.Action) error {
	w.mu.Lock()
	fault := w.fault[s.Cluster.Namespace]
	w.mu.Unlock()
	if fault != nil {
		if err := fault(action); err != nil {
			return err
		}
	}
	return w.actor.Do(ctx, s, snap, action)
}
