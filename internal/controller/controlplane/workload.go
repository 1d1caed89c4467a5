package controlplane

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// workloadWatches are the watches in workload clusters. What comes from them
// only says that it is time to look; nothing is decided on it.
type workloadWatches struct {
	// controller gets the events. Nil in tests without it.
	controller controller.Controller
}

// watchWorkload watches the Nodes and static pods of the servers. After a
// lost connection the watches have to be set up again, so this is done with
// every reconcile; it costs nothing while they run.
func (r *Reconciler) watchWorkload(ctx context.Context, cluster client.ObjectKey) {
	if r.workload.controller == nil {
		return
	}
	enqueue := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return r.ofCluster(ctx, cluster)
	})
	for _, w := range []clustercache.WatcherOptions{
		{Name: controllerName + "-nodes", Kind: &corev1.Node{}, Predicates: []predicate.Predicate{nodeChanged()}},
		{Name: controllerName + "-pods", Kind: &corev1.Pod{}, Predicates: []predicate.Predicate{podChanged()}},
	} {
		w.Watcher, w.EventHandler = r.workload.controller, enqueue
		err := r.Clusters.Watch(ctx, cluster, clustercache.NewWatcher(w))
		if err != nil && !errors.Is(err, clustercache.ErrClusterNotConnected) {
			ctrl.LoggerFrom(ctx).Error(err, "Watch the workload cluster", "watch", w.Name)
		}
	}
}

// nodeChanged leaves out heartbeats.
func nodeChanged() predicate.Predicate {
	return onUpdate(func(before, after *corev1.Node) bool {
		return metadataChanged(before, after) || nodeReady(before) != nodeReady(after)
	})
}

func nodeReady(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// podChanged lets through what changes a static pod's health.
func podChanged() predicate.Predicate {
	return onUpdate(func(before, after *corev1.Pod) bool {
		return before.Status.Phase != after.Status.Phase || podReady(before) != podReady(after) ||
			!equality.Semantic.DeepEqual(before.Labels, after.Labels)
	})
}

func podReady(pod *corev1.Pod) corev1.ConditionStatus {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status
		}
	}
	return ""
}
