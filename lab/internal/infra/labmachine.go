package infra

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	labv1 "github.com/drover-project/drover/lab/api/v1beta2"
	"github.com/drover-project/drover/lab/internal/machine"
)

const (
	// bootTimeout bounds the start of a machine, which takes a fraction of a second.
	bootTimeout = time.Minute
	// nameRetry is how often a LabMachine looks whether its name has become free.
	nameRetry = 5 * time.Second
	// parallel is how many machines are booted or removed at the same time.
	parallel = 10
)

// machineReconciler boots and removes machines.
type machineReconciler struct {
	client     client.Client
	machines   Machines
	registry   *registry
	labBinary  string
	kubeBinary string
}

func (r *machineReconciler) setUp(ctx context.Context, manager ctrl.Manager) error {
	changes := make(chan event.GenericEvent)
	go r.forward(ctx, changes)
	toLabMachines, err := util.ClusterToTypedObjectsMapper(manager.GetClient(), &labv1.LabMachineList{}, manager.GetScheme())
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(manager).
		For(&labv1.LabMachine{}).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(util.MachineToInfrastructureMapFunc(labv1.GroupVersion.WithKind("LabMachine")))).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(toLabMachines)).
		WatchesRawSource(source.Channel(changes, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: parallel}).
		Complete(r)
}

// forward turns changes of machines into events about their LabMachines.
func (r *machineReconciler) forward(ctx context.Context, events chan<- event.GenericEvent) {
	for info := range r.machines.Watch(ctx) {
		owner, ok := r.registry.ownerOf(info.Name)
		if !ok {
			continue
		}
		object := &labv1.LabMachine{ObjectMeta: metav1.ObjectMeta{Namespace: owner.key.Namespace, Name: owner.key.Name}}
		select {
		case <-ctx.Done():
			return
		case events <- event.GenericEvent{Object: object}:
		}
	}
}

// Reconcile implements reconcile.Reconciler.
func (r *machineReconciler) Reconcile(ctx context.Context, request reconcile.Request) (_ reconcile.Result, err error) {
	object := &labv1.LabMachine{}
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if movedAway(object) {
		return reconcile.Result{}, nil
	}
	owner, cluster, err := r.ownersOf(ctx, object)
	if err != nil {
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
		setReady(object)
		patchErr := helper.Patch(ctx, object, patch.WithOwnedConditions{Conditions: []string{
			clusterv1.ReadyCondition, labv1.InstanceRunningCondition, labv1.UserDataSucceededCondition,
			labv1.BootstrapExecSucceededCondition,
		}})
		if !object.DeletionTimestamp.IsZero() {
			patchErr = kerrors.FilterOut(patchErr, isNotFound)
		}
		err = errors.Join(err, patchErr)
	}()
	if !object.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.remove(object)
	}
	if controllerutil.AddFinalizer(object, labv1.MachineFinalizer) {
		// Written before anything is booted; the write leads to the next look.
		return reconcile.Result{}, nil
	}
	return r.reconcile(ctx, object, owner, cluster)
}

// ownersOf returns the Machine and the Cluster of a LabMachine, each nil if it
// is not there. The Cluster is found by its label when the Machine is unknown.
func (r *machineReconciler) ownersOf(ctx context.Context, object *labv1.LabMachine) (*clusterv1.Machine, *clusterv1.Cluster, error) {
	owner, err := util.GetOwnerMachine(ctx, r.client, object.ObjectMeta)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, err
	}
	name := object.Labels[clusterv1.ClusterNameLabel]
	if owner != nil {
		name = owner.Spec.ClusterName
	}
	if name == "" {
		return owner, nil, nil
	}
	cluster, err := util.GetClusterByName(ctx, r.client, object.Namespace, name)
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, err
	}
	return owner, cluster, nil
}

func (r *machineReconciler) reconcile(ctx context.Context, object *labv1.LabMachine, owner *clusterv1.Machine, cluster *clusterv1.Cluster) (reconcile.Result, error) {
	switch {
	case owner == nil || cluster == nil:
		setWaiting(object, labv1.WaitingForMachineReason, "No Machine owns this LabMachine yet")
		return reconcile.Result{}, nil
	case object.Spec.ProviderID != "":
		r.adopt(object)
		r.observe(object)
		return reconcile.Result{}, nil
	case !ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false):
		setWaiting(object, labv1.WaitingForClusterReason, "The infrastructure of Cluster "+cluster.Name+" is not provisioned yet")
		return reconcile.Result{}, nil
	case owner.Spec.Bootstrap.DataSecretName == nil:
		setWaiting(object, labv1.WaitingForBootstrapDataReason, "Machine "+owner.Name+" has no bootstrap data yet")
		return reconcile.Result{}, nil
	}
	if wait := bootDelay(object); wait > 0 {
		setWaiting(object, labv1.BootDelayedReason, "spec.bootDelay is "+object.Spec.BootDelay.Duration.String())
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return r.boot(ctx, object, owner, cluster)
}

func (r *machineReconciler) boot(ctx context.Context, object *labv1.LabMachine, machineOwner *clusterv1.Machine, cluster *clusterv1.Cluster) (reconcile.Result, error) {
	data, format, err := r.bootstrapData(ctx, machineOwner)
	if err != nil {
		setWaiting(object, labv1.WaitingForBootstrapDataReason, err.Error())
		return reconcile.Result{}, err
	}
	claimed := r.registry.claim(object.Name, owner{
		uid: object.UID, key: client.ObjectKeyFromObject(object), cluster: client.ObjectKeyFromObject(cluster),
	})
	if !claimed {
		setWaiting(object, labv1.NameTakenReason, "Another LabMachine named "+object.Name+" exists in this lab; machine names are unique in a lab")
		return reconcile.Result{RequeueAfter: nameRetry}, nil
	}
	hostname := ""
	if pool := object.Spec.Hostnames; len(pool) > 0 {
		var free bool
		if hostname, free = r.registry.takeHostname(object.Name, pool); !free {
			setWaiting(object, labv1.NoHostFreeReason, "Every host of spec.hostnames is another machine's")
			return reconcile.Result{RequeueAfter: nameRetry}, nil
		}
	}
	spec := machine.Spec{
		Name: object.Name, Hostname: hostname, Cluster: cluster.Name, Role: machine.Worker,
		BootstrapData: data, Format: format, ProviderID: "lab://" + cluster.Name + "/" + object.Name, FailureDomain: object.Spec.FailureDomain,
		LabBinary: r.labBinary, KubeBinary: r.kubeBinary,
	}
	if util.IsControlPlaneMachine(machineOwner) {
		spec.Role = machine.ControlPlane
	}
	if machineOwner.Spec.FailureDomain != "" {
		spec.FailureDomain = machineOwner.Spec.FailureDomain
	}
	bootCtx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	// A machine that exists was booted by an earlier attempt whose result could not be
	// written; one that fails is in the manager's list as Failed.
	if _, err := r.machines.Boot(bootCtx, spec); err != nil && !errors.Is(err, machine.ErrExists) {
		ctrl.LoggerFrom(ctx).Error(err, "machine does not boot")
		if _, listed := r.machines.Get(object.Name); !listed {
			return reconcile.Result{}, err
		}
	}
	if wait := reportDelay(object); wait > 0 {
		setWaiting(object, labv1.ReportDelayedReason, "The machine runs, and spec.reportDelay is "+object.Spec.ReportDelay.Duration.String())
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	object.Spec.ProviderID = spec.ProviderID
	r.observe(object)
	return reconcile.Result{}, nil
}

func (r *machineReconciler) bootstrapData(ctx context.Context, owner *clusterv1.Machine) ([]byte, machine.Format, error) {
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: owner.Namespace, Name: *owner.Spec.Bootstrap.DataSecretName}
	if err := r.client.Get(ctx, key, secret); err != nil {
		return nil, "", fmt.Errorf("bootstrap data of Machine %s: %w", owner.Name, err)
	}
	data, ok := secret.Data["value"]
	if !ok {
		return nil, "", fmt.Errorf("bootstrap data of Machine %s: Secret %s has no key \"value\"", owner.Name, secret.Name)
	}
	format := machine.Format(secret.Data["format"])
	if err := format.Validate(); err != nil {
		return nil, "", fmt.Errorf("bootstrap data of Machine %s: %w", owner.Name, err)
	}
	return data, format, nil
}

// adopt takes over the machine that the object names by its provider id, when
// the object came here from another management cluster.
func (r *machineReconciler) adopt(object *labv1.LabMachine) {
	info, found := r.machines.Get(object.Name)
	if !found || object.Spec.ProviderID != info.ProviderID {
		return
	}
	r.registry.adopt(object.Name, client.ObjectKeyFromObject(object), object.UID)
}

func (r *machineReconciler) remove(object *labv1.LabMachine) error {
	setWaiting(object, labv1.DeletingReason, "The machine is being removed")
	if object.Spec.ProviderID != "" {
		r.adopt(object)
	}
	if known, ok := r.registry.ownerOf(object.Name); ok && known.uid == object.UID {
		if err := r.machines.Remove(object.Name); err != nil {
			return err
		}
		r.registry.release(object.Name, object.UID)
	}
	controllerutil.RemoveFinalizer(object, labv1.MachineFinalizer)
	return nil
}
