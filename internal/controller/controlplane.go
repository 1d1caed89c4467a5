package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/controller/controlplane"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/upkeep"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/workload"
)

// userAgent names us to the workload clusters.
const userAgent = "drover"

// addControlPlane adds the control-plane reconciler and the connections to
// workload clusters that it needs.
func addControlPlane(ctx context.Context, mgr ctrl.Manager, o Options) error {
	clusters, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient:     mgr.GetClient(),
		WatchFilterValue: o.WatchFilter,
		Cache:            workloadCache(),
		Client:           clustercache.ClientOptions{QPS: o.ClusterQPS, Burst: o.ClusterBurst, UserAgent: userAgent},
	}, controller.Options{MaxConcurrentReconciles: o.ClusterConcurrency})
	if err != nil {
		return fmt.Errorf("set up the connections to workload clusters: %w", err)
	}
	members := etcd.NewPool(time.Now)
	if err := mgr.Add(members); err != nil {
		return fmt.Errorf("set up the connections to etcd: %w", err)
	}
	connector := &connect.Connector{Secrets: mgr.GetClient(), Clusters: workload.New(clusters), Members: members}
	recorder := mgr.GetEventRecorder("rke2-control-plane-controller")
	r := &controlplane.Reconciler{
		Client:      mgr.GetClient(),
		Live:        mgr.GetAPIReader(),
		Observer:    observe.New(observe.Options{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Connector: connector}),
		Actor:       act.New(act.Options{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Connector: connector, Recorder: recorder}),
		Keeper:      &upkeep.Upkeep{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Nodes: clusters, Servers: connector, Authorities: connector, Now: time.Now, CrossNamespaceReferences: o.Webhooks.CrossNamespaceReferences},
		Clusters:    clusters,
		Recorder:    recorder,
		WatchFilter: o.WatchFilter,
		Trace:       o.Trace,
	}
	return r.SetupWithManager(mgr, clusters, controller.Options{MaxConcurrentReconciles: o.Concurrency})
}

// workloadCache keeps of each workload cluster only what is watched there:
// the Nodes of servers and their static pods.
func workloadCache() clustercache.CacheOptions {
	return clustercache.CacheOptions{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}: {Label: hasLabel(workload.ControlPlaneRoleLabel)},
			&corev1.Pod{}: {
				Namespaces: map[string]cache.Config{metav1.NamespaceSystem: {}},
				Label:      labels.SelectorFromSet(labels.Set{workload.TierLabel: workload.TierControlPlane}),
			},
		},
	}
}
