package infra

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	labv1 "github.com/drover-project/drover/lab/api/v1beta2"
)

// clusterReconciler gives each cluster its load balancer.
type clusterReconciler struct {
	client client.Client
	fleet  *fleet
}

func (r *clusterReconciler) setUp(ctx context.Context, manager ctrl.Manager) error {
	kind := labv1.GroupVersion.WithKind("LabCluster")
	return ctrl.NewControllerManagedBy(manager).
		For(&labv1.LabCluster{}).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(util.ClusterToInfrastructureMapFunc(ctx, kind, manager.GetClient(), &labv1.LabCluster{}))).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofKubeconfig)).
		Complete(r)
}

// ofKubeconfig maps a kubeconfig Secret to the LabCluster of its Cluster.
func (r *clusterReconciler) ofKubeconfig(ctx context.Context, object client.Object) []reconcile.Request {
	name, ok := object.GetLabels()[clusterv1.ClusterNameLabel]
	if !ok || object.GetName() != secret.Name(name, secret.Kubeconfig) {
		return nil
	}
	cluster := &clusterv1.Cluster{}
	if err := r.client.Get(ctx, types.NamespacedName{Namespace: object.GetNamespace(), Name: name}, cluster); err != nil {
		// Its own event will come.
		return nil
	}
	if cluster.Spec.InfrastructureRef.Kind != "LabCluster" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Spec.InfrastructureRef.Name}}}
}

// Reconcile implements reconcile.Reconciler.
func (r *clusterReconciler) Reconcile(ctx context.Context, request reconcile.Request) (_ reconcile.Result, err error) {
	object := &labv1.LabCluster{}
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if movedAway(object) {
		return reconcile.Result{}, nil
	}
	cluster, err := util.GetOwnerCluster(ctx, r.client, object.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if isPaused, requeue, err := paused.EnsurePausedCondition(ctx, r.client, cluster, object); err != nil || isPaused || requeue {
		return reconcile.Result{}, err
	}
	helper, err := patch.NewHelper(object, r.client)
	if err != nil {
		return reconcile.Result{}, err
	}
	defer func() {
		patchErr := helper.Patch(ctx, object, patch.WithOwnedConditions{Conditions: []string{
			clusterv1.ReadyCondition, labv1.LoadBalancerReadyCondition,
		}})
		if !object.DeletionTimestamp.IsZero() {
			patchErr = kerrors.FilterOut(patchErr, isNotFound)
		}
		err = errors.Join(err, patchErr)
	}()
	if !object.DeletionTimestamp.IsZero() {
		if err := r.fleet.remove(frontendOf(object)); err != nil {
			return reconcile.Result{}, err
		}
		controllerutil.RemoveFinalizer(object, labv1.ClusterFinalizer)
		return reconcile.Result{}, nil
	}
	if controllerutil.AddFinalizer(object, labv1.ClusterFinalizer) {
		return reconcile.Result{}, nil
	}
	if cluster == nil {
		setClusterReady(object, metav1.ConditionFalse, "WaitingForCluster", "No Cluster owns this LabCluster yet")
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.reconcile(ctx, object, cluster)
}

func (r *clusterReconciler) reconcile(ctx context.Context, object *labv1.LabCluster, cluster *clusterv1.Cluster) error {
	wanted := frontendOf(object)
	address, err := r.fleet.ensure(wanted, client.ObjectKeyFromObject(cluster))
	if err != nil {
		setClusterReady(object, metav1.ConditionFalse, "LoadBalancerFailed", err.Error())
		return err
	}
	endpoint := clusterv1.APIEndpoint{Host: address.String(), Port: wanted.ports[0]}
	if object.Spec.ControlPlaneEndpoint.Host != "" && object.Spec.ControlPlaneEndpoint != endpoint {
		setClusterReady(object, metav1.ConditionFalse, "EndpointMismatch", fmt.Sprintf(
			"spec.controlPlaneEndpoint is %s, but the load balancer is at %s; leave the field empty, the lab sets it",
			object.Spec.ControlPlaneEndpoint.String(), endpoint.String()))
		return nil
	}
	object.Spec.ControlPlaneEndpoint = endpoint
	object.Status.FailureDomains = object.Spec.FailureDomains
	object.Status.Initialization.Provisioned = ptr.To(true)
	setClusterReady(object, metav1.ConditionTrue, "Listening", "")
	return r.followNodes(ctx, object, cluster)
}

// frontendOf returns what the LabCluster says of its load balancer.
func frontendOf(object *labv1.LabCluster) frontend {
	f := frontend{
		key: client.ObjectKeyFromObject(object), uid: object.UID,
		address: object.Spec.ControlPlaneEndpoint.Host, ports: object.Spec.LoadBalancer.Ports,
	}
	if len(f.ports) == 0 {
		f.ports = labv1.DefaultLoadBalancerPorts
	}
	return f
}

// followNodes lets the load balancer see the cluster's Nodes once there is a
// kubeconfig, and again with each new one.
func (r *clusterReconciler) followNodes(ctx context.Context, object *labv1.LabCluster, cluster *clusterv1.Cluster) error {
	kubeconfig := &corev1.Secret{}
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: secret.Name(cluster.Name, secret.Kubeconfig)}
	if err := r.client.Get(ctx, key, kubeconfig); err != nil {
		return client.IgnoreNotFound(err)
	}
	return r.fleet.followNodes(client.ObjectKeyFromObject(object), kubeconfig.Data[secret.KubeconfigDataName])
}

func setClusterReady(object *labv1.LabCluster, status metav1.ConditionStatus, reason, message string) {
	for _, name := range []string{labv1.LoadBalancerReadyCondition, clusterv1.ReadyCondition} {
		conditions.Set(object, metav1.Condition{Type: name, Status: status, Reason: reason, Message: message})
	}
}
