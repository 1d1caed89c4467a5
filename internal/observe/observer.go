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
	"github.com/drover-project/drover/internal/world/workload"
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
	snap.ControlPlane.Initialized = snap.ControlPlane.Initialized || w.answered()
	snap.ControlPlane.NetworkOptional = networkOptional(s, w)
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
	// session is nil when nothing could be read.
	session *connect.Session
	// problem says why nodes are not known.
	problem string
	// nodes are the Nodes of servers and of Machines. One that is not in it
	// does not exist.
	nodes map[string]*corev1.Node
	// pods are the static pods by node name and component.
	pods        map[string]map[string]*corev1.Pod
	podsProblem string
	// remover is the name of the server that serves removal annotations. It
	// is empty when it is not known: then RKE2 is asked, and given a time.
	remover string
}

func (o *Observer) workload(ctx context.Context, s *scope.Scope) workloadView {
	session, err := o.Connector.Open(ctx, s)
	if err != nil {
		return workloadView{at: o.Now(), problem: err.Error()}
	}
	var nodes map[string]*corev1.Node
	var pods []corev1.Pod
	var nodesErr, podsErr error
	var remover string
	var wg sync.WaitGroup
	wg.Go(func() { nodes, nodesErr = session.Workload.Nodes(ctx, s.NodeNames()) })
	wg.Go(func() { pods, podsErr = session.Workload.ControlPlanePods(ctx) })
	if s.SomeoneLeaves() {
		wg.Go(func() { remover, _ = session.Workload.LeaseHolder(ctx, workload.RemovalLease) })
	}
	wg.Wait()
	if nodesErr != nil {
		return workloadView{at: o.Now(), problem: nodesErr.Error()}
	}
	w := workloadView{at: o.Now(), session: session, nodes: nodes, pods: podsByNode(pods), remover: remover}
	if podsErr != nil {
		w.podsProblem = podsErr.Error()
	}
	return w
}

// answered tells whether a server's API has answered with a server's Node.
func (w workloadView) answered() bool {
	for _, node := range w.nodes {
		if workload.IsServer(node) {
			return true
		}
	}
	return false
}

func (o *Observer) etcd(ctx context.Context, s *scope.Scope, w workloadView) model.Etcd {
	unknown := func(reason string) model.Etcd {
		return model.Etcd{Members: model.Unknown[[]model.Member](reason, o.Now())}
	}
	if s.HiddenEtcd {
		return unknown("nobody has etcd's certificate authorities yet")
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
	servers := membership.Servers(s.Machines, w.nodes)
	read := membership.Read(ctx, members, servers, o.Now)
	if !read.Members.Known {
		if list, err := w.session.ListFromSupervisors(ctx); err == nil {
			read = membership.FromList(list, model.Supervisor, servers, o.Now())
		}
	}
	if read.Members.Known {
		o.complete(s, w, read)
	}
	return model.Etcd{Members: read.Members, Path: read.Path}
}

// complete adds what etcd does not know about its members.
func (o *Observer) complete(s *scope.Scope, w workloadView, read membership.Membership) {
	var orphans []uint64
	for i := range read.Members.Value {
		m := &read.Members.Value[i]
		m.NodeReady = model.No
		if name, ok := read.Node[m.ID]; ok && name != "" {
			m.NodeReady = readyOf(w.nodes[name])
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
