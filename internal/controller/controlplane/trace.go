package controlplane

import (
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/trace"
)

// Trace keeps what was seen, decided and done.
type Trace interface {
	// Begin keeps a decision whose action is about to be carried out.
	Begin(r trace.Record) error
	// Write keeps one decision and what came of it.
	Write(r trace.Record) error
	// Forget says that nothing more will be heard of a control plane, given
	// as namespace/name.
	Forget(controlPlane string) error
}

// keep hands the decision of a run to the trace, with the error of its action.
// A trace that can't be written is no reason to stop.
func (r *Reconciler) keep(ctx context.Context, run run, err error) {
	if r.Trace == nil {
		return
	}
	record := run.record()
	if run.decision.Action != nil {
		record.Result = result(err)
	}
	r.noteTrace(ctx, r.Trace.Write(record))
}

// keepBegin tells the trace of an action before it is carried out: the process
// may end before there is an outcome.
func (r *Reconciler) keepBegin(ctx context.Context, run run) {
	if r.Trace != nil {
		r.noteTrace(ctx, r.Trace.Begin(run.record()))
	}
}

func (run run) record() trace.Record {
	cp := run.scope.ControlPlane
	return trace.Record{
		Time: time.Now(), ControlPlane: client.ObjectKeyFromObject(cp).String(), UID: string(cp.UID),
		Snapshot: run.snapshot, Decision: run.decision, Result: trace.Result{State: trace.None},
	}
}

// result is what came of an action.
func result(err error) trace.Result {
	var refused act.Refused
	switch {
	case err == nil:
		return trace.Result{State: trace.Done}
	case errors.As(err, &refused):
		return trace.Result{State: trace.Refused, Reason: refused.Reason}
	default:
		return trace.Result{State: trace.Failed, Reason: err.Error()}
	}
}

// noteTrace logs the first of a row of failures to write the trace, and the
// end of the row: a full disk would fill the log as well.
func (r *Reconciler) noteTrace(ctx context.Context, err error) {
	log := ctrl.LoggerFrom(ctx)
	switch {
	case err != nil && r.traceFails.CompareAndSwap(false, true):
		log.Error(err, "The trace of decisions can't be written; records are lost until it can be again")
	case err == nil && r.traceFails.CompareAndSwap(true, false):
		log.Info("The trace of decisions is written again")
	}
}

func (r *Reconciler) forget(ctx context.Context, key client.ObjectKey) {
	r.memory.forget(key)
	measured.forget(key)
	if r.Trace != nil {
		if err := r.Trace.Forget(key.String()); err != nil {
			r.noteTrace(ctx, err)
		}
	}
}
