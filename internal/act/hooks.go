package act

import (
	"context"
	"maps"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
)

// restoreHooks puts missing hooks back on.
func (a *Actor) restoreHooks(ctx context.Context, s *scope.Scope, snap model.Snapshot, act model.RestoreHooks) error {
	m, err := a.liveMachine(ctx, s, snap, act.Machine)
	if err != nil {
		return err
	}
	if phaseOf(m).PastHooks() {
		return refuse("core has passed the hooks of Machine %s", m.Name)
	}
	return a.patchMachine(ctx, m, func(annotations map[string]string) {
		for hook, value := range desired.Hooks() {
			if act.PreTerminateOnly && hook != controlplanev1.PreTerminateHookCleanupAnnotation {
				continue
			}
			if _, there := annotations[hook]; !there {
				annotations[hook] = value
			}
		}
	})
}

// releasePreDrainHook lets core drain the Machine, unless another Machine has
// got ahead of it, or one that was to stay has been deleted meanwhile.
func (a *Actor) releasePreDrainHook(ctx context.Context, s *scope.Scope, snap model.Snapshot, act model.ReleasePreDrainHook) error {
	live, err := a.unchangedMachines(ctx, s, snap)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		if name != act.Machine && pastPreDrain(live[name]) {
			return refuse("Machine %s is already leaving, and one server leaves at a time", name)
		}
	}
	m, err := a.liveMachine(ctx, s, snap, act.Machine)
	if err != nil {
		return err
	}
	if m.DeletionTimestamp.IsZero() {
		return refuse("Machine %s is not being deleted", m.Name)
	}
	if !has(m, controlplanev1.PreTerminateHookCleanupAnnotation) {
		return refuse("Machine %s does not carry our pre-terminate hook, nothing would hold it after the drain", m.Name)
	}
	return a.patchMachine(ctx, m, func(annotations map[string]string) {
		delete(annotations, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation)
	})
}

// pastPreDrain tells whether core drains the Machine or is further.
func pastPreDrain(m *clusterv1.Machine) bool {
	if m.DeletionTimestamp.IsZero() {
		return false
	}
	switch phaseOf(m) {
	case model.PhaseNone, model.PhaseWaitingForPreDrain, model.PhaseDeletingWithoutState, model.PhaseInternalError:
		return !has(m, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation)
	default:
		return true
	}
}

// dropHooks takes both hooks off a Machine when everything goes.
func (a *Actor) dropHooks(ctx context.Context, s *scope.Scope, snap model.Snapshot, act model.DropHooks) error {
	whole, err := a.wholeIsDeleted(ctx, s)
	if err != nil {
		return err
	}
	if !whole {
		return refuse("neither the control plane nor its Cluster is being deleted")
	}
	m, err := a.liveMachine(ctx, s, snap, act.Machine)
	if err != nil {
		return err
	}
	return a.patchMachine(ctx, m, func(annotations map[string]string) {
		for hook := range desired.Hooks() {
			delete(annotations, hook)
		}
	})
}

// releasePreTerminateHook lets core destroy the Machine, when etcd itself
// says that its member is gone. Core up to 1.13 drains once more when the
// hook is off, which a node without etcd can't do; so the same patch excludes
// that. Never two patches: core could act in between.
func (a *Actor) releasePreTerminateHook(ctx context.Context, s *scope.Scope, snap model.Snapshot, act model.ReleasePreTerminateHook) error {
	m, err := a.drainedMachine(ctx, s, snap, act.Machine)
	if err != nil {
		return err
	}
	if err := a.memberIsGone(ctx, s, snap, m); err != nil {
		return err
	}
	if snap.ControlPlane.ExternalDatastore {
		// Nothing but the other Machines says that the API will be served.
		if _, err := a.unchangedMachines(ctx, s, snap); err != nil {
			return err
		}
	}
	return a.patchMachine(ctx, m, func(annotations map[string]string) {
		for hook := range desired.Hooks() {
			delete(annotations, hook)
		}
		annotations[clusterv1.ExcludeNodeDrainingAnnotation] = "true"
		annotations[clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation] = "true"
	})
}

// memberIsGone refuses while etcd lists a member of the Machine, or can't be
// asked.
func (a *Actor) memberIsGone(ctx context.Context, s *scope.Scope, snap model.Snapshot, m *clusterv1.Machine) error {
	if snap.ControlPlane.ExternalDatastore {
		return nil
	}
	if !snap.ControlPlane.Initialized && !m.Status.NodeRef.IsDefined() {
		return nil
	}
	live, err := a.readEtcd(ctx, s)
	if err != nil {
		return err
	}
	if member, listed := live.memberOf(m.Name); listed {
		return refuse("etcd still lists member %s of Machine %s", member.Label(), m.Name)
	}
	if member, is := live.strange(); is && len(m.Status.Addresses) == 0 && a.mayJoin(m) && !scope.ReadInfrastructure(ctx, a.Client, a.Live, m).Missing {
		return refuse("etcd lists member %s, which may be that of Machine %s: nobody has reported its addresses", member.Label(), m.Name)
	}
	return a.joinIsSurvivable(ctx, live, m)
}

// joinIsSurvivable refuses while the host may be about to join as a voter that
// the others could not lose again, see the rule joiner_is_let_in_first. That is
// counted for one: no second one is let go beside it.
func (a *Actor) joinIsSurvivable(ctx context.Context, live *liveEtcd, m *clusterv1.Machine) error {
	if !a.mayJoin(m) {
		return nil
	}
	if err := live.onlyRemoval(0); err != nil {
		return err // what it is removing is lost as well
	}
	for _, name := range slices.Sorted(maps.Keys(live.machines)) {
		other := live.machines[name]
		_, held := other.Annotations[controlplanev1.PreTerminateHookCleanupAnnotation]
		if name != m.Name && !other.DeletionTimestamp.IsZero() && !held && a.mayJoin(other) {
			return refuse("Machine %s was let go as well, and both may be about to join", name)
		}
	}
	if v := quorum.AfterJoinAndLoss(live.members); v.OK || scope.ReadInfrastructure(ctx, a.Client, a.Live, m).Missing {
		return nil
	}
	return refuse("Machine %s may be about to join, and the cluster could not lose it again", m.Name)
}

// mayJoin tells whether the Machine's host has not been seen in the cluster and
// is not too old to come. It may run before its infrastructure reports it.
func (a *Actor) mayJoin(m *clusterv1.Machine) bool {
	return !m.Status.NodeRef.IsDefined() && a.Now().Sub(m.CreationTimestamp.Time) < model.JoinTime
}
