package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/report"
	"github.com/drover-project/drover/internal/upkeep"
)

// publish writes the report into the status of the control plane and the
// conditions of its Machines, where it differs from what is there.
func (r *Reconciler) publish(ctx context.Context, run run) error {
	rep := report.Make(r.input(ctx, run))
	var errs []error
	for _, name := range run.scope.Names() {
		if err := r.publishMachine(ctx, run.scope.Machines[name], rep.MachineConditions[name]); err != nil {
			errs = append(errs, fmt.Errorf("conditions of Machine %s: %w", name, err))
		}
	}
	before := run.scope.ControlPlane
	if !equality.Semantic.DeepEqual(before.Status, rep.Status) {
		after := before.DeepCopy()
		after.Status = rep.Status
		// Nobody else writes this status, and before was read live.
		if err := ignoreGone(r.Client.Status().Patch(ctx, after, client.MergeFrom(before))); err != nil {
			errs = append(errs, fmt.Errorf("status: %w", err))
		}
	}
	return kerrors.NewAggregate(errs)
}

func (r *Reconciler) publishMachine(ctx context.Context, m *clusterv1.Machine, wanted []metav1.Condition) error {
	differs := func(c metav1.Condition) bool {
		old := conditions.Get(m, c.Type)
		return old == nil || !conditions.HasSameState(old, &c)
	}
	stale := func(kind string) bool { return conditions.Has(m, kind) }
	if !slices.ContainsFunc(wanted, differs) && !slices.ContainsFunc(formerConditions, stale) {
		return nil
	}
	helper, err := patch.NewHelper(m, r.Client)
	if err != nil {
		return err
	}
	updated := m.DeepCopy()
	for _, c := range wanted {
		if differs(c) {
			conditions.Set(updated, c)
		}
	}
	for _, kind := range formerConditions {
		conditions.Delete(updated, kind)
	}
	owned := slices.Concat(report.OwnedMachineConditions(), formerConditions)
	return ignoreGone(helper.Patch(ctx, updated, patch.WithOwnedConditions{Conditions: owned}))
}

// formerConditions are those of a Machine that another provider set. They go
// when it is taken over: nobody keeps them up to date, and a health check may
// act on the last that was said.
var formerConditions = []string{controlplanev1.MachineAgentHealthyCondition, controlplanev1.MachineNodeMetadataUpToDateCondition}

// UpkeepFailedEvent is the reason of the event for upkeep that failed.
const UpkeepFailedEvent = "UpkeepFailed"

// announce tells what is new: waits that began and upkeep that began to fail.
func (r *Reconciler) announce(ctx context.Context, run run, problems []upkeep.Problem) {
	key := client.ObjectKeyFromObject(run.scope.ControlPlane)
	texts := make([]string, 0, len(problems))
	for _, p := range problems {
		texts = append(texts, p.Error())
		ctrl.LoggerFrom(ctx).Error(p.Err, "Upkeep failed", "step", p.Step)
	}
	before, now := r.memory.exchange(key, func(before said) said {
		return said{decision: run.decision, problems: strings.Join(texts, "; "), stays: report.Stays(before.stays, run.snapshot)}
	})
	begun := report.WaitEvents(before.decision, run.decision)
	for _, e := range begun {
		r.Recorder.Eventf(run.scope.ControlPlane, nil, corev1.EventTypeNormal, e.Reason, "Wait", "%s", e.Note)
		if m := run.scope.Machines[e.Machine]; m != nil {
			r.Recorder.Eventf(m, run.scope.ControlPlane, corev1.EventTypeNormal, e.Reason, "Wait", "%s", e.Note)
		}
		ctrl.LoggerFrom(ctx).Info("Waiting", "why", e.Note)
	}
	if now.problems != "" && now.problems != before.problems {
		r.Recorder.Eventf(run.scope.ControlPlane, nil, corev1.EventTypeWarning, UpkeepFailedEvent, "Upkeep", "%s", report.Note(now.problems))
	}
	measured.show(key, run.snapshot, run.decision, begun, report.EndedStays(before.stays, now.stays, run.snapshot.Now))
}
