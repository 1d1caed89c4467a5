// Package bootstrap has the controller that turns an RKE2Config into the bootstrap data of its Machine or MachinePool.
//
// Bootstrap data are made once per Machine and never made again: a machine may have read them already. Those of a
// MachinePool follow its version and configuration, since machines are made from them at any time. The controller
// creates nothing that a cluster depends on; certificate authorities and the token belong to the control-plane
// controller, and this one waits until they exist.
//
// Whatever keeps the data from being made is a wait: it stands in the condition DataSecretAvailable, and the change
// that ends it is watched for.
package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// Reconciler makes the bootstrap data of RKE2Configs.
type Reconciler struct {
	// Client may read from a cache.
	Client client.Client
	// APIReader reads live. Secrets, and what must not be missed, are read through it.
	APIReader client.Reader
	// WatchFilter, when not empty, leaves RKE2Configs alone whose label cluster.x-k8s.io/watch-filter has another
	// value.
	WatchFilter string
	// CrossNamespaceReferences allows references to Secrets and ConfigMaps of other namespaces. Without it a reference
	// to another namespace is an error: with the controller's rights a tenant could read any Secret onto a machine.
	CrossNamespaceReferences bool
	// Limits are how large bootstrap data may be for the infrastructure.
	Limits DataLimits
	// Recorder writes events. SetupWithManager makes one when it is nil.
	Recorder events.EventRecorder
}

// requestTimeout bounds the API calls of one reconcile.
const requestTimeout = time.Minute

// Reconcile makes the bootstrap data of one RKE2Config, or says in its conditions what is missing for it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	config := &bootstrapv1.RKE2Config{}
	if err := r.Client.Get(ctx, req.NamespacedName, config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.WatchFilter != "" && config.Labels[clusterv1.WatchLabel] != r.WatchFilter {
		return ctrl.Result{}, nil
	}
	t, err := r.target(ctx, config)
	if err != nil || t == nil {
		return ctrl.Result{}, err
	}
	isPaused, changed, err := paused.EnsurePausedCondition(ctx, r.Client, t.cluster, config)
	if err != nil || isPaused || changed {
		// A change of the condition is an event of its own, which leads back here.
		return ctrl.Result{}, err
	}
	return r.report(ctx, config, t)
}

// report does the work and writes what came of it into the status.
func (r *Reconciler) report(ctx context.Context, config *bootstrapv1.RKE2Config, t *target) (ctrl.Result, error) {
	if !config.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	helper, err := patch.NewHelper(config, r.Client)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("RKE2Config %s: %w", client.ObjectKeyFromObject(config), err)
	}
	err = r.reconcile(ctx, t)
	var w *wait
	if errors.As(err, &w) {
		err = nil
	}
	setConditions(config, t, w, err)
	err = kerrors.NewAggregate([]error{err, patchConfig(ctx, helper, config, err == nil)})
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: t.retry(w)}, nil
}

// retry is when to look again at what is not watched; zero when all is.
func (t *target) retry(w *wait) time.Duration {
	switch {
	case w != nil:
		return w.retry
	case t.boot != nil:
		return t.boot.retry()
	default:
		return 0
	}
}

// patchConfig writes what has changed. The generation counts as observed when the work did not fail.
func patchConfig(ctx context.Context, helper *patch.Helper, config *bootstrapv1.RKE2Config, observed bool) error {
	options := []patch.Option{patch.WithOwnedConditions{Conditions: []string{
		bootstrapv1.ReadyCondition, bootstrapv1.DataSecretAvailableCondition, bootstrapv1.CertificatesAvailableCondition,
		bootstrapv1.BootstrapSucceededCondition, clusterv1.PausedCondition,
	}}}
	if observed {
		options = append(options, patch.WithStatusObservedGeneration{})
	}
	// An object that was deleted meanwhile needs no status.
	return kerrors.FilterOut(helper.Patch(ctx, config, options...), apierrors.IsNotFound)
}

// reconcile makes sure that the bootstrap data exist, and those of a pool are up to date. The error is a *wait when that
// cannot be yet.
func (r *Reconciler) reconcile(ctx context.Context, t *target) error {
	if name := ptr.Deref(t.machineSpec().Bootstrap.DataSecretName, ""); name != "" && !hasData(t.config) {
		// The status is not carried along when objects move to another management cluster. The owner tells that there
		// are data already.
		t.setDataSecret(name)
	}
	deleting := !t.owner().GetDeletionTimestamp().IsZero()
	if hasData(t.config) {
		if !deleting {
			r.observeBoot(ctx, t)
		}
		// A Machine's data are made once, and a pool that goes needs no new ones.
		if err := r.ownData(ctx, t); err != nil || t.pool == nil || deleting {
			return err
		}
	}
	if deleting {
		return waitFor(bootstrapv1.DataSecretNotAvailableReason, "%s is being deleted", t.ownerName())
	}
	if !ptr.Deref(t.cluster.Status.Initialization.InfrastructureProvisioned, false) {
		return waitFor(bootstrapv1.WaitingForClusterInfrastructureReason,
			"waiting for the infrastructure of Cluster %s to be provisioned", t.cluster.Name)
	}
	if t.pool != nil {
		return r.follow(ctx, t)
	}
	return r.generate(ctx, t)
}

// hasData tells whether the status says that the data exist.
func hasData(config *bootstrapv1.RKE2Config) bool {
	return ptr.Deref(config.Status.Initialization.DataSecretCreated, false) && ptr.Deref(config.Status.DataSecretName, "") != ""
}

// setDataSecret notes in the status that the data exist.
func (t *target) setDataSecret(name string) {
	t.config.Status.DataSecretName = ptr.To(name)
	t.config.Status.Initialization.DataSecretCreated = ptr.To(true)
}
