package act

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/scope"
)

// liveMachines lists the owned Machines past the cache.
func (a *Actor) liveMachines(ctx context.Context, s *scope.Scope) (collections.Machines, error) {
	owned, _, err := scope.Machines(ctx, a.Live, s.ControlPlane, s.Cluster.Name)
	return owned, err
}

// unchangedMachines refuses when the Machines are not those of the snapshot:
// one is new or gone, or has been deleted meanwhile. The decision counted
// them.
func (a *Actor) unchangedMachines(ctx context.Context, s *scope.Scope, snap model.Snapshot) (collections.Machines, error) {
	live, err := a.liveMachines(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		seen, ok := snap.MachineByName(name)
		switch {
		case !ok || seen.UID != string(live[name].UID):
			return nil, refuse("Machine %s was not there when this was decided", name)
		case seen.Deleting != !live[name].DeletionTimestamp.IsZero():
			return nil, refuse("Machine %s has been deleted since this was decided", name)
		}
	}
	if len(live) != len(snap.Machines) {
		return nil, refuse("there are %d control-plane Machines, %d when this was decided", len(live), len(snap.Machines))
	}
	return live, nil
}

// liveMachine reads one Machine past the cache. It must be the one of the
// snapshot and belong to the control plane.
func (a *Actor) liveMachine(ctx context.Context, s *scope.Scope, snap model.Snapshot, name string) (*clusterv1.Machine, error) {
	seen, ok := snap.MachineByName(name)
	if !ok {
		return nil, refuse("Machine %s is not part of the observation", name)
	}
	m := &clusterv1.Machine{}
	err := a.Live.Get(ctx, client.ObjectKey{Namespace: s.ControlPlane.Namespace, Name: name}, m)
	switch {
	case apierrors.IsNotFound(err):
		return nil, refuse("Machine %s is gone", name)
	case err != nil:
		return nil, fmt.Errorf("read Machine %s: %w", name, err)
	case string(m.UID) != seen.UID:
		return nil, refuse("Machine %s is another one than before", name)
	case !collections.OwnedMachines(s.ControlPlane, scope.ControlPlaneKind)(m):
		return nil, refuse("Machine %s does not belong to the control plane any more", name)
	}
	return m, nil
}

// drainedMachine is liveMachine for the steps after the drain. Core must hold
// the Machine for us and for nobody else: exactly this reason says that its
// node is drained and its volumes are detached.
func (a *Actor) drainedMachine(ctx context.Context, s *scope.Scope, snap model.Snapshot, name string) (*clusterv1.Machine, error) {
	m, err := a.liveMachine(ctx, s, snap, name)
	if err != nil {
		return nil, err
	}
	if phase := phaseOf(m); phase != model.PhaseWaitingForPreTerm {
		return nil, refuse("core is not waiting for the pre-terminate hook of Machine %s (it is at %q)", name, phase)
	}
	if !has(m, controlplanev1.PreTerminateHookCleanupAnnotation) {
		return nil, refuse("Machine %s does not carry our pre-terminate hook", name)
	}
	if err := a.pastPreDrainHook(ctx, s, m); err != nil {
		return nil, err
	}
	for key := range m.Annotations {
		if strings.HasPrefix(key, clusterv1.PreTerminateDeleteHookAnnotationPrefix) && key != controlplanev1.PreTerminateHookCleanupAnnotation {
			return nil, refuse("Machine %s is held by another pre-terminate hook, %s", name, key)
		}
	}
	return m, nil
}

// pastPreDrainHook refuses while our pre-drain hook is on a Machine with a
// Node: core was at the pre-terminate hook before it knew of the Node, or while
// no other server was to stay, and comes back to the pre-drain hook. Without a
// server that stays it does not, and drains nothing.
func (a *Actor) pastPreDrainHook(ctx context.Context, s *scope.Scope, m *clusterv1.Machine) error {
	if !has(m, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation) || !m.Status.NodeRef.IsDefined() {
		return nil
	}
	live, err := a.liveMachines(ctx, s)
	if err != nil {
		return err
	}
	for _, other := range live {
		if other.DeletionTimestamp.IsZero() {
			return refuse("Machine %s still carries our pre-drain hook, core has not drained its Node", m.Name)
		}
	}
	return nil
}

func phaseOf(m *clusterv1.Machine) model.Phase {
	if m.DeletionTimestamp.IsZero() {
		return model.PhaseNone
	}
	c := conditions.Get(m, clusterv1.MachineDeletingCondition)
	if c == nil {
		return model.PhaseNone
	}
	return model.Phase(c.Reason)
}

func has(m *clusterv1.Machine, annotation string) bool {
	_, ok := m.Annotations[annotation]
	return ok
}

// patchMachine changes annotations of a Machine in one request, which fails
// if the Machine has changed since it was read. Afterwards it waits until the
// cache shows the change.
func (a *Actor) patchMachine(ctx context.Context, m *clusterv1.Machine, change func(annotations map[string]string)) error {
	updated := m.DeepCopy()
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	change(updated.Annotations)
	if maps.Equal(updated.Annotations, m.Annotations) {
		return nil
	}
	wanted := maps.Clone(updated.Annotations)
	patch := client.MergeFromWithOptions(m, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Patch(ctx, updated, patch); err != nil {
		return changedMeanwhile(err, "Machine "+m.Name, "patch")
	}
	a.awaitCache(ctx, m.Name, m.Namespace, func(cached *clusterv1.Machine) bool {
		return cached == nil || maps.Equal(cached.Annotations, wanted)
	})
	return nil
}

// changedMeanwhile turns a conflict, and an object that is gone, into a
// refusal.
func changedMeanwhile(err error, what, verb string) error {
	switch {
	case apierrors.IsConflict(err):
		return refuse("%s has changed since it was read", what)
	case apierrors.IsNotFound(err):
		return refuse("%s is gone", what)
	default:
		return fmt.Errorf("%s %s: %w", verb, what, err)
	}
}

const (
	cacheWait = 5 * time.Second
	cacheStep = 10 * time.Millisecond
)

// awaitCache waits until the cached client shows a Machine the way it was
// just written, so that the next observation is not older than the action.
// Not seeing it in time is no failure: the live checks of the next action
// would refuse what a stale observation leads to.
func (a *Actor) awaitCache(ctx context.Context, name, namespace string, shown func(*clusterv1.Machine) bool) {
	_ = wait.PollUntilContextTimeout(ctx, cacheStep, cacheWait, true, func(ctx context.Context) (bool, error) {
		m := &clusterv1.Machine{}
		err := a.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, m)
		if apierrors.IsNotFound(err) {
			return shown(nil), nil
		}
		return err == nil && shown(m), nil
	})
}

// liveControlPlane refuses when the control plane is gone, or its spec is
// another one than the decision rests on.
func (a *Actor) liveControlPlane(ctx context.Context, s *scope.Scope) (*controlplanev1.RKE2ControlPlane, error) {
	cp := &controlplanev1.RKE2ControlPlane{}
	key := client.ObjectKeyFromObject(s.ControlPlane)
	err := a.Live.Get(ctx, key, cp)
	switch {
	case apierrors.IsNotFound(err), err == nil && cp.UID != s.ControlPlane.UID:
		return nil, refuse("the control plane is gone")
	case err != nil:
		return nil, fmt.Errorf("read control plane %s: %w", key, err)
	}
	return cp, nil
}

// annotateControlPlane sets an annotation of the control plane, also on the
// object given, in one request that fails if it has changed since it was read.
func (a *Actor) annotateControlPlane(ctx context.Context, cp *controlplanev1.RKE2ControlPlane, key, value string) error {
	before := cp.DeepCopy()
	if cp.Annotations == nil {
		cp.Annotations = map[string]string{}
	}
	cp.Annotations[key] = value
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Patch(ctx, cp, patch); err != nil {
		return changedMeanwhile(err, "control plane "+cp.Name, "patch")
	}
	return nil
}

// liveCluster reads the Cluster past the cache.
func (a *Actor) liveCluster(ctx context.Context, s *scope.Scope) (*clusterv1.Cluster, error) {
	c := &clusterv1.Cluster{}
	if err := a.Live.Get(ctx, s.ClusterKey(), c); err != nil {
		return nil, fmt.Errorf("read Cluster %s: %w", s.ClusterKey(), err)
	}
	return c, nil
}
