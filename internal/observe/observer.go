package observe

import (
	"context"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/membership"
	"github.com/drover-project/drover/internal/world/scope"
)

// Options is what an Observer needs.
type Options struct {
	// Client reads the management cluster. It may be cached.
	Client client.Reader
	// Live reads the management cluster past any cache.
	Live client.Reader
	// Connector opens the workload clusters.
	Connector *connect.Connector
	// Now is the clock. Nil means the wall clock.
	Now func() time.Time
	// Dial opens plain TCP connections, to see whether the registration
	// address answers. Nil means the network as it is.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Observer makes Snapshots. It remembers, per cluster, what can't be read
// from anywhere: since when a member has had no Machine, and when the
// registration address last answered. It is safe for concurrent use.
type Observer struct {
	Options
	memory memory
}

// New returns an Observer.
func New(o Options) *Observer {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	return &Observer{Options: o, memory: newMemory()}
}

// Observe looks at everything around the control plane. It takes as long as
// the slowest server, at most about 7 seconds when one does not answer.
func (o *Observer) Observe(ctx context.Context, s *scope.Scope) (model.Snapshot, error) {
	snap := model.Snapshot{ControlPlane: controlPlane(s), Cluster: cluster(s, o.Now())}
	if err := o.countWorkers(ctx, s, &snap); err != nil {
		return model.Snapshot{}, err
	}
	var wg sync.WaitGroup
	var w workloadView
	wg.Go(func() { o.certificates(ctx, s, &snap.Cluster) })
	wg.Go(func() { w = o.workload(ctx, s) })
	wg.Wait()

	for _, name := range s.Names() {
		snap.Machines = append(snap.Machines, o.machine(s, s.Machines[name], w))
	}
	snap.ControlPlane.Initialized = snap.ControlPlane.Initialized || len(w.servers) > 0
	snap.Etcd = o.etcd(ctx, s, w)
	if mayCreate(snap) {
		o.registration(ctx, s, &snap.Cluster)
	}
	snap.Now = o.Now()
	return snap, nil
}

// workloadView is what one look at the workload API server gave.
type workloadView struct {
	at time.Time
	// session is nil when there is no connection.
	session *connect.Session
	// problem says why nodes are not known.
	problem string
	// servers are the Nodes with a server's label.
	servers map[string]*corev1.Node
	// others are the Nodes of Machines without such a label. A nil Node means
	// that it does not exist.
	others map[string]lookup
	// pods are the static pods by node name and component.
	pods        map[string]map[string]*corev1.Pod
	podsProblem string
}

type lookup struct {
	node *corev1.Node
	err  error
}

func (o *Observer) workload(ctx context.Context, s *scope.Scope) workloadView {
	w := workloadView{at: o.Now(), others: map[string]lookup{}}
	session, err := o.Connector.Open(ctx, s)
	if err != nil {
		w.problem = err.Error()
		w.podsProblem = w.problem
		return w
	}
	var nodesErr, podsErr error
	var pods []corev1.Pod
	var wg sync.WaitGroup
	wg.Go(func() { w.servers, nodesErr = session.Workload.ServerNodes(ctx) })
	wg.Go(func() { pods, podsErr = session.Workload.ControlPlanePods(ctx) })
	wg.Wait()
	w.at = o.Now()
	if nodesErr != nil {
		w.problem = nodesErr.Error()
		w.podsProblem = w.problem
		return w
	}
	w.session = session
	w.pods = podsByNode(pods)
	if podsErr != nil {
		w.podsProblem = podsErr.Error()
	}
	o.lookUpOthers(ctx, s, &w)
	return w
}

// lookUpOthers reads the Nodes of Machines that carry no server label, or do
// not exist.
func (o *Observer) lookUpOthers(ctx context.Context, s *scope.Scope, w *workloadView) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range s.Machines {
		name := m.Status.NodeRef.Name
		if _, known := w.servers[name]; known || name == "" {
			continue
		}
		wg.Go(func() {
			node, err := w.session.Workload.Node(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			w.others[name] = lookup{node: node, err: err}
		})
	}
	wg.Wait()
}

// node returns a Node by name. A nil Node without a problem does not exist.
func (w workloadView) node(name string) (node *corev1.Node, problem string) {
	if w.problem != "" {
		return nil, w.problem
	}
	if found, ok := w.servers[name]; ok {
		return found, ""
	}
	if found := w.others[name]; found.err != nil {
		return nil, found.err.Error()
	}
	return w.others[name].node, ""
}

func (o *Observer) etcd(ctx context.Context, s *scope.Scope, w workloadView) model.Etcd {
	unknown := func(reason string) model.Etcd {
		return model.Etcd{Members: model.Unknown[[]model.Member](reason, o.Now())}
	}
	if hasExternalDatastore(s) {
		return unknown("the control plane keeps no etcd members of its own")
	}
	if w.session == nil {
		return unknown(w.problem)
	}
	members, err := w.session.Etcd(ctx)
	if err != nil {
		return unknown(err.Error())
	}
	read := membership.Read(ctx, members, servers(s, w), o.Now)
	if read.Members.Known {
		o.complete(s, w, read)
	}
	return model.Etcd{Members: read.Members}
}

// complete adds what etcd does not know about its members.
func (o *Observer) complete(s *scope.Scope, w workloadView, read membership.Membership) {
	var orphans []uint64
	for i := range read.Members.Value {
		m := &read.Members.Value[i]
		m.NodeReady = model.No
		if name, ok := read.Node[m.ID]; ok && name != "" {
			node, problem := w.node(name)
			m.NodeReady = readyOf(node, problem)
		}
		if m.Machine == "" {
			orphans = append(orphans, m.ID)
		}
	}
	since := o.memory.orphans(string(s.Cluster.UID), orphans, read.Members.At)
	for i := range read.Members.Value {
		m := &read.Members.Value[i]
		m.UnmatchedSince = since[m.ID]
	}
}
