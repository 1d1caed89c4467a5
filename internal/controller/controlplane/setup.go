package controlplane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/report"
)

const controllerName = "rke2controlplane"

// The back-off after an error. Every attempt is cheap and safe, and what
// failed is mostly a server that is about to come back.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Source gives the events of connections to workload clusters. Cluster API's
// ClusterCache is one.
type Source interface {
	GetClusterSource(controllerName string, mapFunc func(ctx context.Context, cluster client.Object) []ctrl.Request, opts ...clustercache.GetClusterSourceOption) source.Source
}

// SetupWithManager registers the controller and its watches. Connections may
// be nil in tests.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, connections Source, options controller.Options) error {
	if options.RateLimiter == nil {
		options.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry)
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		WithOptions(options).
		For(&controlplanev1.RKE2ControlPlane{}, builder.WithPredicates(controlPlaneChanged())).
		Owns(&clusterv1.Machine{}, builder.WithPredicates(machineChanged())).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.workerToControlPlane), builder.WithPredicates(workerGone())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.clusterToControlPlane), builder.WithPredicates(clusterChanged())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.secretToControlPlane), builder.WithPredicates(secretOfCluster()))
	if connections != nil {
		b = b.WatchesRawSource(connections.GetClusterSource(controllerName, r.clusterToControlPlane,
			clustercache.WatchForProbeFailure(report.ContactGrace)))
	}
	c, err := b.Build(r)
	if err != nil {
		return fmt.Errorf("set up the controller %s: %w", controllerName, err)
	}
	r.workload.controller = c
	return nil
}

// clusterToControlPlane leads from a Cluster to its control plane.
func (r *Reconciler) clusterToControlPlane(_ context.Context, obj client.Object) []reconcile.Request {
	cluster, ok := obj.(*clusterv1.Cluster)
	if !ok {
		return nil
	}
	ref := cluster.Spec.ControlPlaneRef
	if ref.Kind != "RKE2ControlPlane" || ref.APIGroup != controlplanev1.GroupVersion.Group {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: cluster.Namespace, Name: ref.Name}}}
}

// ofCluster leads from the name of a Cluster to its control plane.
func (r *Reconciler) ofCluster(ctx context.Context, key client.ObjectKey) []reconcile.Request {
	if key.Name == "" {
		return nil
	}
	cluster := &clusterv1.Cluster{}
	if err := r.Client.Get(ctx, key, cluster); err != nil {
		return nil
	}
	return r.clusterToControlPlane(ctx, cluster)
}

func (r *Reconciler) secretToControlPlane(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.ofCluster(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: obj.GetLabels()[clusterv1.ClusterNameLabel]})
}

func (r *Reconciler) workerToControlPlane(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.ofCluster(ctx, client.ObjectKey{Namespace: obj.GetNamespace(), Name: obj.GetLabels()[clusterv1.ClusterNameLabel]})
}
