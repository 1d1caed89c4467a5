package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/scope"
)

// Options is what an Actor needs.
type Options struct {
	// Client writes to the management cluster. Its reads may be cached.
	Client client.Client
	// Live reads the management cluster past any cache.
	Live client.Reader
	// Connector opens the workload clusters.
	Connector *connect.Connector
	// Recorder gets an event on the control plane for each action, refusal
	// and failure.
	Recorder events.EventRecorder
	// Suffix makes the random end of a new server's name. Nil means five
	// random letters and digits.
	Suffix func() string
	// Now is the clock. Nil means the wall clock.
	Now func() time.Time
}

// Actor carries out actions. It is safe for concurrent use.
type Actor struct{ Options }

// New returns an Actor.
func New(o Options) *Actor {
	if o.Suffix == nil {
		o.Suffix = func() string { return rand.String(5) }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Actor{Options: o}
}

// Refused is returned when an action was not carried out because its ground
// is gone, or something it rests on could not be confirmed. It is no failure:
// observe again and decide anew. Find it with errors.As.
type Refused struct {
	// Reason is one sentence for people.
	Reason string
}

// Error implements error.
func (r Refused) Error() string { return "refused: " + r.Reason }

func refuse(format string, args ...any) error { return Refused{Reason: fmt.Sprintf(format, args...)} }

// IsRefused tells whether an error of Do is a refusal.
func IsRefused(err error) bool {
	var r Refused
	return errors.As(err, &r)
}

// Do carries out one action on the control plane of the scope. The snapshot
// is the one the action was decided on. The result is nil when it is done, a
// Refused when its ground is gone, and any other error when a read or write
// failed, so that it is not known whether it is done.
func (a *Actor) Do(ctx context.Context, s *scope.Scope, snap model.Snapshot, action model.Action) error {
	err := a.do(ctx, s, snap, action)
	a.report(s, action, err)
	return err
}

func (a *Actor) do(ctx context.Context, s *scope.Scope, snap model.Snapshot, action model.Action) error {
	switch act := action.(type) {
	case model.CreateMachine:
		return a.createMachine(ctx, s, snap, act)
	case model.DeleteMachine:
		return a.deleteMachine(ctx, s, snap, act)
	case model.RestoreHooks:
		return a.restoreHooks(ctx, s, snap, act)
	case model.ExcludeFromLoadBalancers:
		return a.excludeFromLoadBalancers(ctx, s, snap, act)
	case model.ReleasePreDrainHook:
		return a.releasePreDrainHook(ctx, s, snap, act)
	case model.MoveLeader:
		return a.moveLeader(ctx, s, act)
	case model.AskForMemberRemoval:
		return a.askForMemberRemoval(ctx, s, snap, act)
	case model.RemoveMember:
		return a.removeMember(ctx, s, snap, act)
	case model.ReleasePreTerminateHook:
		return a.releasePreTerminateHook(ctx, s, snap, act)
	case model.DropHooks:
		return a.dropHooks(ctx, s, snap, act)
	case model.FinishDeletion:
		return a.finishDeletion(ctx, s)
	default:
		return fmt.Errorf("action of type %T is not known", action)
	}
}
