package probe

import (
	"context"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	excludeLabel     = corev1.LabelNodeExcludeBalancers
	removeAnnotation = "etcd.rke2.cattle.io/remove"
	leaseNamespace   = corev1.NamespaceNodeLease
)

// FollowWorkload follows Nodes, their Leases, and the pods that match the selector in namespace, in the workload
// cluster, until ctx ends.
func FollowWorkload(ctx context.Context, c client.WithWatch, namespace string, selector client.MatchingLabels, log *timeline.Log) {
	w := &workload{log: log, nodes: map[string]*corev1.Node{}, pods: map[string]podState{}, renewed: map[string]int64{}}
	go follow(ctx, c, &corev1.NodeList{}, nil, w.node)
	go follow(ctx, c, &coordinationv1.LeaseList{}, []client.ListOption{client.InNamespace(leaseNamespace)}, w.lease)
	go follow(ctx, c, &corev1.PodList{}, []client.ListOption{client.InNamespace(namespace), selector}, w.pod)
}

type podState struct{ running, terminating bool }

type workload struct {
	log *timeline.Log

	mu      sync.Mutex
	nodes   map[string]*corev1.Node
	pods    map[string]podState
	renewed map[string]int64
}

func (w *workload) node(s seen) {
	node, ok := s.object.(*corev1.Node)
	if !ok {
		return
	}
	w.mu.Lock()
	before := w.nodes[node.Name]
	w.nodes[node.Name] = node
	if s.gone {
		delete(w.nodes, node.Name)
	}
	w.mu.Unlock()
	for _, e := range nodeEvents(before, node, s.gone) {
		e.Revision = s.revision
		w.log.Append(s.dated(e))
	}
}

// nodeEvents tells what changed between two looks at a Node; before is nil at the first.
func nodeEvents(before, now *corev1.Node, gone bool) []timeline.Event {
	var out []timeline.Event
	add := func(kind timeline.Kind, detail string) {
		out = append(out, timeline.Event{Kind: kind, Node: now.Name, Detail: detail})
	}
	was := corev1.ConditionStatus("")
	if before == nil {
		before = &corev1.Node{}
	} else {
		was, _ = nodeReady(before)
	}
	is, reason := nodeReady(now)
	switch {
	case is == was:
	case is == corev1.ConditionTrue:
		add(timeline.NodeReady, reason)
	case is != "" && (was == corev1.ConditionTrue || was == ""):
		add(timeline.NodeNotReady, reason)
	}
	if _, had := before.Labels[excludeLabel]; !had {
		if _, has := now.Labels[excludeLabel]; has {
			add(timeline.NodeExcluded, "")
		}
	}
	if before.Annotations[removeAnnotation] != "true" && now.Annotations[removeAnnotation] == "true" {
		add(timeline.NodeRemoveAsked, "")
	}
	if gone {
		add(timeline.NodeGone, "")
	}
	return out
}

func nodeReady(n *corev1.Node) (corev1.ConditionStatus, string) {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status, c.Reason
		}
	}
	return "", ""
}

func (w *workload) lease(s seen) {
	lease, ok := s.object.(*coordinationv1.Lease)
	if !ok || s.gone || lease.Spec.RenewTime == nil {
		return
	}
	at := lease.Spec.RenewTime.Time
	w.mu.Lock()
	fresh := w.renewed[lease.Name] != at.UnixMicro()
	w.renewed[lease.Name] = at.UnixMicro()
	w.mu.Unlock()
	if fresh {
		w.log.Append(s.dated(timeline.Event{Kind: timeline.LeaseRenewed, At: at, Node: lease.Name, Revision: s.revision}))
	}
}

func (w *workload) pod(s seen) {
	pod, ok := s.object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	id := pod.Namespace + "/" + pod.Name
	w.mu.Lock()
	before := w.pods[id]
	now := podState{
		running:     before.running || pod.Status.Phase == corev1.PodRunning,
		terminating: before.terminating || pod.DeletionTimestamp != nil,
	}
	w.pods[id] = now
	w.mu.Unlock()
	tell := func(kind timeline.Kind) {
		w.log.Append(s.dated(timeline.Event{Kind: kind, Node: pod.Spec.NodeName, Object: id, Revision: s.revision}))
	}
	if now.running && !before.running {
		tell(timeline.PodRunning)
	}
	if now.terminating && !before.terminating {
		tell(timeline.PodTerminating)
	}
	if s.gone {
		tell(timeline.PodGone)
	}
}
