package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
	"github.com/drover-project/drover/internal/world/scope"
)

// run is what one reconcile saw and decided last.
type run struct {
	// scope is what the last observation was made on.
	scope *scope.Scope
	// observed tells whether snapshot and decision are set.
	observed bool
	snapshot model.Snapshot
	decision model.Decision
	// again, when set, is when to go on because there was more to do.
	again time.Duration
	// gone is true when the control plane was let go of.
	gone bool
	// err is why the last observation or action failed.
	err error
}

const (
	// maxActions bounds the actions of one reconcile, so that the status
	// keeps up with what is done.
	maxActions = 10
	// maxRefusals bounds how often one reconcile goes on after a refusal. The
	// observation was then older than what the action read.
	maxRefusals = 2
	// afterActions and afterRefusal are when to go on after these bounds.
	afterActions = 10 * time.Millisecond
	afterRefusal = time.Second
)

// run observes, decides and acts until there is nothing to do now.
func (r *Reconciler) run(ctx context.Context, s *scope.Scope) run {
	out := run{scope: s}
	refusals := 0
	for range maxActions {
		snapshot, err := r.Observer.Observe(ctx, s)
		if err != nil {
			out.err = fmt.Errorf("observe: %w", err)
			return out
		}
		out.scope, out.snapshot, out.observed = s, snapshot, true
		out.decision = plan.Decide(snapshot)
		if out.decision.Action == nil {
			r.keep(ctx, out, nil)
			return out
		}
		r.keepBegin(ctx, out)
		err = r.do(ctx, s, out)
		r.keep(ctx, out, err)
		switch {
		case act.IsRefused(err):
			if refusals++; refusals > maxRefusals {
				out.again = afterRefusal
				return out
			}
		case err != nil:
			out.err = fmt.Errorf("%s: %w", out.decision.Action.Describe(), err)
			return out
		}
		s, err = r.reload(ctx, s)
		if apierrors.IsNotFound(err) || errors.Is(err, scope.ErrNoCluster) {
			out.gone = true
			return out
		}
		if err != nil {
			out.err = err
			return out
		}
	}
	out.again = afterActions
	return out
}

func (r *Reconciler) do(ctx context.Context, s *scope.Scope, out run) error {
	action := out.decision.Action
	log := ctrl.LoggerFrom(ctx).WithValues("rule", out.decision.Rule, "action", action.Describe())
	err := r.Actor.Do(ctx, s, out.snapshot, action)
	measured.count(action, out.snapshot, err)
	switch {
	case act.IsRefused(err):
		log.Info("Action refused", "reason", err.Error())
	case err == nil:
		log.Info("Action done")
	}
	return err
}

// reload reads the scope anew after an action.
func (r *Reconciler) reload(ctx context.Context, s *scope.Scope) (*scope.Scope, error) {
	cp := &controlplanev1.RKE2ControlPlane{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.ControlPlane), cp); err != nil {
		return nil, err
	}
	if cp.UID != s.ControlPlane.UID {
		return nil, apierrors.NewNotFound(controlplanev1.GroupVersion.WithResource("rke2controlplanes").GroupResource(), cp.Name)
	}
	return scope.Load(ctx, r.Client, r.Live, cp)
}
