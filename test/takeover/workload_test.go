package takeover_test

import (
	"context"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/world/scope"
)

// workloads makes up what is seen of workload clusters, by namespace. All else
// is real.
type workloads struct {
	observer *observe.Observer

	mu      sync.Mutex
	overlay map[string]func(*model.Snapshot)
	last    map[string]model.Snapshot
}

// show sets what is seen from now on.
func (w *workloads) show(namespace string, overlay func(*model.Snapshot)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.overlay == nil {
		w.overlay, w.last = map[string]func(*model.Snapshot){}, map[string]model.Snapshot{}
	}
	w.overlay[namespace] = overlay
}

// snapshot is what was observed last.
func (w *workloads) snapshot(namespace string) model.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last[namespace]
}

// Observe implements controlplane.Observer.
func (w *workloads) Observe(ctx context.Context, s *scope.Scope) (model.Snapshot, error) {
	snapshot, err := w.observer.Observe(ctx, s)
	w.mu.Lock()
	defer w.mu.Unlock()
	if overlay := w.overlay[s.Cluster.Namespace]; overlay != nil && err == nil {
		overlay(&snapshot)
		w.last[s.Cluster.Namespace] = snapshot
	}
	return snapshot, err
}

// working shows every Machine as a whole server: a Ready Node, healthy pods
// and, unless the datastore is elsewhere, a started voter.
func working(s *model.Snapshot) {
	var members []model.Member
	for i := range s.Machines {
		m := &s.Machines[i]
		m.NodeName, m.NodeAbsent = "node-of-"+m.Name, false
		m.InfrastructureReady = true
		m.InfrastructureGone = model.Known(false, s.Now)
		m.Node = model.Known(model.Node{Exists: true, Ready: model.Yes, MemberAnnotated: true}, s.Now)
		for name := range m.Components {
			m.Components[name] = model.Known(true, s.Now)
		}
		members = append(members, model.Member{
			ID: uint64(i + 1), Name: m.NodeName + "-1234abcd", Machine: m.Name, Leader: i == 0,
			Answers: model.Known(true, s.Now), NodeReady: model.Yes,
		})
	}
	s.ControlPlane.Initialized = len(members) > 0
	s.Cluster.Registration = model.Known(true, s.Now)
	if !s.ControlPlane.ExternalDatastore {
		s.Etcd.Members = model.Known(members, s.Now)
	}
}

// unseen shows nothing: the workload cluster does not answer.
func unseen(*model.Snapshot) {}

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
