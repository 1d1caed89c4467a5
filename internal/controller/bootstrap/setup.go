package bootstrap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

const controllerName = "rke2config"

// SetupWithManager registers the controller and the watches that end its waits.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, options controller.Options) error {
	if r.Recorder == nil {
		r.Recorder = mgr.GetEventRecorder("rke2-bootstrap-controller")
	}
	log := ctrl.LoggerFrom(ctx).WithValues("controller", controllerName)
	filter := predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, r.WatchFilter)
	err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		WithOptions(options).
		For(&bootstrapv1.RKE2Config{}, builder.WithPredicates(filter)).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.machineToConfigs)).
		// The definition of MachinePools comes with Cluster API's core, whether their feature gate is on or not.
		Watches(&clusterv1.MachinePool{}, handler.EnqueueRequestsFromMapFunc(poolToConfig),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.clusterToConfigs),
			builder.WithPredicates(clusterChanged())).
		Watches(&controlplanev1.RKE2ControlPlane{}, handler.EnqueueRequestsFromMapFunc(r.controlPlaneToConfigs),
			builder.WithPredicates(controlPlaneChanged())).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.secretToConfigs),
			builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return clusterOfSecret(o) != "" }))).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller %s: %w", controllerName, err)
	}
	return nil
}

// machineToConfigs leads from a Machine to its config, and from a server's Machine also to the other servers that have
// no data yet: one of them may become the first server when it is gone.
func (r *Reconciler) machineToConfigs(ctx context.Context, obj client.Object) []reconcile.Request {
	machine, ok := obj.(*clusterv1.Machine)
	if !ok {
		return nil
	}
	requests := configOf(machine.Namespace, &machine.Spec)
	if _, server := machine.Labels[clusterv1.MachineControlPlaneLabel]; !server {
		return requests
	}
	return append(requests, r.configsOf(ctx, machine.Namespace, machine.Spec.ClusterName, func(other *clusterv1.Machine) bool {
		_, server := other.Labels[clusterv1.MachineControlPlaneLabel]
		return server && other.Name != machine.Name && hasNoData(other)
	})...)
}

// poolToConfig leads from a MachinePool to its config.
func poolToConfig(_ context.Context, obj client.Object) []reconcile.Request {
	pool, ok := obj.(*clusterv1.MachinePool)
	if !ok {
		return nil
	}
	return configOf(pool.Namespace, &pool.Spec.Template.Spec)
}

// configOf returns the config of a Machine or of a pool's machines, if it is one of ours.
func configOf(namespace string, spec *clusterv1.MachineSpec) []reconcile.Request {
	ref := spec.Bootstrap.ConfigRef
	if ref.Kind != configKind || ref.APIGroup != bootstrapv1.GroupVersion.Group {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: ref.Name}}}
}

// clusterToConfigs leads to all configs of a cluster: pausing concerns those with data as well.
func (r *Reconciler) clusterToConfigs(ctx context.Context, obj client.Object) []reconcile.Request {
	requests := r.configsOf(ctx, obj.GetNamespace(), obj.GetName(), func(*clusterv1.Machine) bool { return true })
	return append(requests, r.poolConfigsOf(ctx, obj.GetNamespace(), obj.GetName())...)
}

// controlPlaneToConfigs leads to the configs that may wait for the control plane, and to those whose data follow it.
func (r *Reconciler) controlPlaneToConfigs(ctx context.Context, obj client.Object) []reconcile.Request {
	cluster := obj.GetLabels()[clusterv1.ClusterNameLabel]
	if ref := ownerOf(obj, clusterv1.GroupVersion.Group, "Cluster"); ref != nil {
		cluster = ref.Name
	}
	requests := r.configsOf(ctx, obj.GetNamespace(), cluster, hasNoData)
	return append(requests, r.poolConfigsOf(ctx, obj.GetNamespace(), cluster)...)
}

// secretToConfigs leads to the configs that may wait for the Secret, and to those whose data follow it.
func (r *Reconciler) secretToConfigs(ctx context.Context, obj client.Object) []reconcile.Request {
	cluster := clusterOfSecret(obj)
	requests := r.configsOf(ctx, obj.GetNamespace(), cluster, hasNoData)
	return append(requests, r.poolConfigsOf(ctx, obj.GetNamespace(), cluster)...)
}

func hasNoData(machine *clusterv1.Machine) bool {
	return ptr.Deref(machine.Spec.Bootstrap.DataSecretName, "") == ""
}

func (r *Reconciler) configsOf(ctx context.Context, namespace, cluster string, keep func(*clusterv1.Machine) bool) []reconcile.Request {
	if cluster == "" {
		return nil
	}
	machines := &clusterv1.MachineList{}
	err := r.Client.List(ctx, machines, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the Machines of a cluster", "Cluster", cluster)
		return nil
	}
	var requests []reconcile.Request
	for i := range machines.Items {
		if keep(&machines.Items[i]) {
			requests = append(requests, configOf(namespace, &machines.Items[i].Spec)...)
		}
	}
	return requests
}

// poolConfigsOf returns the configs of all MachinePools of a cluster: their data follow what they were made from.
func (r *Reconciler) poolConfigsOf(ctx context.Context, namespace, cluster string) []reconcile.Request {
	if cluster == "" {
		return nil
	}
	pools := &clusterv1.MachinePoolList{}
	if err := r.Client.List(ctx, pools, client.InNamespace(namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the MachinePools of a cluster", "Cluster", cluster)
		return nil
	}
	var requests []reconcile.Request
	for i := range pools.Items {
		if pool := &pools.Items[i]; pool.Spec.ClusterName == cluster {
			requests = append(requests, configOf(namespace, &pool.Spec.Template.Spec)...)
		}
	}
	return requests
}

// clusterOfSecret returns the cluster whose certificate authority or token a Secret is; empty if it is neither. It goes
// by the name where the label is missing, because users may bring their own Secrets.
func clusterOfSecret(obj client.Object) string {
	labelled := obj.GetLabels()[clusterv1.ClusterNameLabel]
	suffixes := secrets.Names("")
	for _, suffix := range []string{
		suffixes.ServerCA, suffixes.ClientCA, suffixes.EtcdPeerCA, suffixes.EtcdCA, suffixes.Token, suffixes.AgentToken,
	} {
		cluster, ok := strings.CutSuffix(obj.GetName(), suffix)
		if ok && cluster != "" && (labelled == "" || labelled == cluster) {
			return cluster
		}
	}
	return ""
}

// clusterChanged lets those changes of a Cluster pass that can end a wait.
func clusterChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*clusterv1.Cluster)
		after, okAfter := e.ObjectNew.(*clusterv1.Cluster)
		if !ok || !okAfter {
			return false
		}
		return ptr.Deref(before.Spec.Paused, false) != ptr.Deref(after.Spec.Paused, false) ||
			before.Spec.ControlPlaneEndpoint != after.Spec.ControlPlaneEndpoint ||
			before.Spec.ControlPlaneRef != after.Spec.ControlPlaneRef ||
			initialized(before) != initialized(after) ||
			ptr.Deref(before.Status.Initialization.InfrastructureProvisioned, false) !=
				ptr.Deref(after.Status.Initialization.InfrastructureProvisioned, false)
	}}
}

// controlPlaneChanged lets those changes of a control plane pass that can end a wait.
func controlPlaneChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*controlplanev1.RKE2ControlPlane)
		after, okAfter := e.ObjectNew.(*controlplanev1.RKE2ControlPlane)
		if !ok || !okAfter {
			return false
		}
		return before.Generation != after.Generation ||
			firstServerBy(before) != firstServerBy(after) ||
			scope.Initialized(before) != scope.Initialized(after) ||
			!slices.Equal(before.Status.AvailableServerIPs, after.Status.AvailableServerIPs)
	}}
}

func firstServerBy(obj metav1.Object) string {
	return obj.GetAnnotations()[controlplanev1.FirstServerByAnnotation]
}
