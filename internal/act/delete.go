package act

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
)

// deleteMachine asks core to delete a Machine. Unless everything goes, it
// must carry both hooks: they are what makes the deletion safe.
func (a *Actor) deleteMachine(ctx context.Context, s *scope.Scope, snap model.Snapshot, act model.DeleteMachine) error {
	whole, err := a.wholeIsDeleted(ctx, s)
	if err != nil {
		return err
	}
	if !whole {
		if _, err := a.unchangedMachines(ctx, s, snap); err != nil {
			return err
		}
	}
	m, err := a.liveMachine(ctx, s, snap, act.Machine)
	if err != nil {
		return err
	}
	if !m.DeletionTimestamp.IsZero() {
		return nil
	}
	if act.Remediate {
		if !desired.Marked(m) {
			return refuse("Machine %s is not marked by a MachineHealthCheck any more", m.Name)
		}
		if err := a.recordRemediation(ctx, s, act); err != nil {
			return err
		}
	}
	if !whole {
		for hook := range desired.Hooks() {
			if !has(m, hook) {
				return refuse("Machine %s does not carry the hook %s", m.Name, hook)
			}
		}
	}
	err = a.Client.Delete(ctx, m, client.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return changedMeanwhile(err, "Machine "+m.Name, "delete")
	}
	a.awaitCache(ctx, m.Name, m.Namespace, func(cached *clusterv1.Machine) bool {
		return cached == nil || !cached.DeletionTimestamp.IsZero()
	})
	return nil
}

// wholeIsDeleted tells, live, whether the control plane or its Cluster is
// being deleted.
func (a *Actor) wholeIsDeleted(ctx context.Context, s *scope.Scope) (bool, error) {
	cp, err := a.liveControlPlane(ctx, s)
	if err != nil {
		return false, err
	}
	if !cp.DeletionTimestamp.IsZero() {
		return true, nil
	}
	cluster, err := a.liveCluster(ctx, s)
	if err != nil {
		return false, err
	}
	return !cluster.DeletionTimestamp.IsZero(), nil
}

// finishDeletion takes our finalizer off the control plane, also under its
// former misspelling, when no Machine is left.
func (a *Actor) finishDeletion(ctx context.Context, s *scope.Scope) error {
	cp, err := a.liveControlPlane(ctx, s)
	if IsRefused(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if cp.DeletionTimestamp.IsZero() {
		return refuse("the control plane is not being deleted")
	}
	machines, err := a.liveMachines(ctx, s)
	if err != nil {
		return err
	}
	if len(machines) > 0 {
		return refuse("%d Machines are still there", len(machines))
	}
	before := cp.DeepCopy()
	cp.Finalizers = slices.DeleteFunc(cp.Finalizers, func(f string) bool {
		return f == controlplanev1.RKE2ControlPlaneFinalizer || f == controlplanev1.RKE2ControlPlaneLegacyFinalizer
	})
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(a.Client.Patch(ctx, cp, patch)); err != nil {
		return changedMeanwhile(err, "control plane "+cp.Name, "patch")
	}
	a.Connector.Members.Forget(string(s.Cluster.UID))
	return nil
}
