// Package controlplane has the controller that keeps control planes.
//
// It is thin: it loads what belongs to a control plane, lets upkeep do what is
// harmless, and then observes, asks the planner and carries out its one
// action, again and again until there is nothing to do now. What it saw last
// becomes the status. Only here the planner's waits become times to look
// again; whatever a watch can tell is watched for.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
	"github.com/drover-project/drover/internal/report"
	"github.com/drover-project/drover/internal/upkeep"
	"github.com/drover-project/drover/internal/world/scope"
)

// Observer looks at a control plane.
type Observer interface {
	Observe(ctx context.Context, s *scope.Scope) (model.Snapshot, error)
}

// Actor carries out one action. It returns an act.Refused when the ground of
// the action is gone.
type Actor interface {
	Do(ctx context.Context, s *scope.Scope, snap model.Snapshot, action model.Action) error
}

// Keeper does the harmless upkeep.
type Keeper interface {
	Run(ctx context.Context, s *scope.Scope) []upkeep.Problem
}

// Clusters is the part of Cluster API's ClusterCache that is needed here.
type Clusters interface {
	GetHealthCheckingState(ctx context.Context, cluster client.ObjectKey) clustercache.HealthCheckingState
	Watch(ctx context.Context, cluster client.ObjectKey, watcher clustercache.Watcher) error
}

// Reconciler keeps control planes. It is safe for concurrent use.
type Reconciler struct {
	// Client writes, and reads from a cache.
	Client client.Client
	// Live reads past any cache.
	Live     client.Reader
	Observer Observer
	Actor    Actor
	Keeper   Keeper
	Clusters Clusters
	// Recorder writes events.
	Recorder events.EventRecorder
	// WatchFilter, when not empty, leaves control planes alone whose label
	// cluster.x-k8s.io/watch-filter has another value.
	WatchFilter string
	// Trace, when not nil, gets every decision and what came of it.
	Trace Trace

	workload   workloadWatches
	memory     memory
	traceFails atomic.Bool
}

// memory is what was last said about each control plane, so that it is not
// said again.
type memory struct {
	mu   sync.Mutex
	said map[client.ObjectKey]said
}

type said struct {
	decision model.Decision
	problems string
	// stays are where the Machines stood that are being deleted.
	stays map[string]report.Stay
}

// exchange stores what is said now, which may follow on what was said before,
// and returns both.
func (m *memory) exchange(key client.ObjectKey, say func(before said) said) (before, now said) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.said == nil {
		m.said = map[client.ObjectKey]said{}
	}
	before = m.said[key]
	now = say(before)
	m.said[key] = now
	return before, now
}

func (m *memory) forget(key client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.said, key)
}

const (
	// timeout bounds one reconcile. An observation takes up to 7 s when a
	// server does not answer, and there are several.
	timeout = 3 * time.Minute
	// unhurried is when to look again at a control plane that is as wished:
	// etcd's alarms and lag are reported by no watch.
	unhurried = time.Minute
	// afterProblem is when failed upkeep is tried again.
	afterProblem = 10 * time.Second
)

// Reconcile brings one control plane a step closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	// Read live: the status is written as a difference to what is read here.
	cp := &controlplanev1.RKE2ControlPlane{}
	if err := r.Live.Get(ctx, req.NamespacedName, cp); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(ctx, req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read control plane: %w", err)
	}
	if r.WatchFilter != "" && cp.Labels[clusterv1.WatchLabel] != r.WatchFilter {
		return ctrl.Result{}, nil
	}
	s, err := scope.Load(ctx, r.Client, r.Live, cp)
	if errors.Is(err, scope.ErrNoCluster) {
		return ctrl.Result{}, r.withoutCluster(ctx, cp)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	isPaused, _, err := paused.EnsurePausedCondition(ctx, r.Client, s.Cluster, cp)
	if err != nil || isPaused {
		return ctrl.Result{}, ignoreGone(err)
	}
	if _, err := finalizers.EnsureFinalizer(ctx, r.Client, cp, controlplanev1.RKE2ControlPlaneFinalizer); err != nil {
		return ctrl.Result{}, ignoreGone(err)
	}
	return r.reconcile(ctx, s)
}

func (r *Reconciler) reconcile(ctx context.Context, s *scope.Scope) (ctrl.Result, error) {
	r.watchWorkload(ctx, s.ClusterKey())
	problems := r.Keeper.Run(ctx, s)
	run := r.run(ctx, s)
	if run.gone {
		r.forget(ctx, client.ObjectKeyFromObject(s.ControlPlane))
		return ctrl.Result{}, nil
	}
	err := run.err
	if run.observed {
		err = kerrors.NewAggregate([]error{err, r.publish(ctx, run)})
		r.announce(ctx, run, problems)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: next(run, len(problems) > 0)}, nil
}

// next is when to look again if no watch reports anything before.
func next(run run, problems bool) time.Duration {
	if run.again > 0 {
		return run.again
	}
	var after time.Duration
	sooner := func(d time.Duration) {
		if d > 0 && (after == 0 || d < after) {
			after = d
		}
	}
	for _, w := range run.decision.Waits {
		sooner(w.Recheck)
	}
	for _, m := range run.snapshot.Machines {
		if !m.OutdatedAt.IsZero() {
			// A moment later it has passed.
			sooner(m.OutdatedAt.Sub(run.snapshot.Now) + time.Second)
		}
	}
	if problems {
		sooner(afterProblem)
	}
	if run.snapshot.ControlPlane.Initialized {
		sooner(unhurried)
	}
	return after
}

// withoutCluster lets go of a control plane that is deleted and has no
// Cluster. There can be nothing behind it: Machines belong to a Cluster.
func (r *Reconciler) withoutCluster(ctx context.Context, cp *controlplanev1.RKE2ControlPlane) error {
	if cp.DeletionTimestamp.IsZero() {
		return nil
	}
	machines := &clusterv1.MachineList{}
	if err := r.Live.List(ctx, machines, client.InNamespace(cp.Namespace), client.HasLabels{clusterv1.MachineControlPlaneLabel}); err != nil {
		return fmt.Errorf("list Machines: %w", err)
	}
	for i := range machines.Items {
		for _, owner := range machines.Items[i].OwnerReferences {
			if owner.UID == cp.UID {
				return fmt.Errorf("control plane has no Cluster any more but still owns Machine %s; delete the Machine", machines.Items[i].Name)
			}
		}
	}
	before := cp.DeepCopy()
	cp.Finalizers = withoutOurs(cp.Finalizers)
	if err := r.Client.Patch(ctx, cp, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return ignoreGone(err)
	}
	return nil
}

func withoutOurs(all []string) []string {
	var out []string
	for _, f := range all {
		if f != controlplanev1.RKE2ControlPlaneFinalizer && f != controlplanev1.RKE2ControlPlaneLegacyFinalizer {
			out = append(out, f)
		}
	}
	return out
}

// lastContact is when the workload API last answered a probe.
func (r *Reconciler) lastContact(ctx context.Context, s *scope.Scope) time.Time {
	return r.Clusters.GetHealthCheckingState(ctx, s.ClusterKey()).LastProbeSuccessTime
}

// ignoreGone turns the end of an object into the end of its reconcile.
func ignoreGone(err error) error { return kerrors.FilterOut(err, apierrors.IsNotFound) }

// input gathers what the report is made from.
func (r *Reconciler) input(ctx context.Context, run run) report.Input {
	in := report.Input{
		ControlPlane: run.scope.ControlPlane,
		Cluster:      run.scope.Cluster,
		Snapshot:     run.snapshot,
		Decision:     run.decision,
		Order:        plan.DepartureOrder(run.snapshot),
		Held:         plan.RolloutHeld(run.snapshot),
		LastContact:  r.lastContact(ctx, run.scope),
	}
	for _, name := range run.scope.Names() {
		in.Machines = append(in.Machines, run.scope.Machines[name])
	}
	if run.err != nil && run.decision.Action != nil {
		in.Failures = append(in.Failures, fmt.Sprintf("Failed to %s: %v", run.decision.Action.Describe(), run.err))
	}
	return in
}
