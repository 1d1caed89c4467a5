package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/drover-project/drover/internal/world/workload"
)

// The kinds of failure that callers tell apart. Errors of this package wrap
// at most one of them.
var (
	// ErrUnhealthy is etcd's "unhealthy cluster": it refuses to change the
	// membership while a voter is down or was down less than about 5 seconds
	// ago.
	ErrUnhealthy = errors.New("etcd refuses to change an unhealthy cluster")
	// ErrNotEnoughStarted is etcd's refusal to remove a voter without which
	// the started ones would have no quorum, above all the last one.
	ErrNotEnoughStarted = errors.New("etcd refuses to remove a member it needs for quorum")
	// ErrNotLeader says that the member asked is not the leader.
	ErrNotLeader = errors.New("the member is not the leader")
	// ErrBadTransferee says that leadership can't go to this member: it is a
	// learner or not listed.
	ErrBadTransferee = errors.New("the member can't take the leadership")
	// ErrLearner says that the member asked is a learner and can't answer
	// this.
	ErrLearner = errors.New("a learner can't answer")
	// ErrNoLeader says that there is no quorum to answer.
	ErrNoLeader = errors.New("etcd has no leader")
	// ErrUnclear says that the outcome is not known: it may have happened.
	// Only a fresh member list tells.
	ErrUnclear = errors.New("the outcome is not known")
	// ErrNotRunning says that the member's node was reached and nothing
	// listens on etcd's port there.
	ErrNotRunning = errors.New("etcd is not running")
	// ErrUnreachable says that the member could not be asked.
	ErrUnreachable = errors.New("the member can't be reached")
)

// kinds maps etcd's own errors. Those that stand for a request that may have
// gone through are unclear.
var kinds = map[error]error{
	rpctypes.ErrUnhealthy:                  ErrUnhealthy,
	rpctypes.ErrMemberNotEnoughStarted:     ErrNotEnoughStarted,
	rpctypes.ErrNotLeader:                  ErrNotLeader,
	rpctypes.ErrBadLeaderTransferee:        ErrBadTransferee,
	rpctypes.ErrNoLeader:                   ErrNoLeader,
	rpctypes.ErrStopped:                    ErrUnclear,
	rpctypes.ErrTimeout:                    ErrUnclear,
	rpctypes.ErrTimeoutDueToLeaderFail:     ErrUnclear,
	rpctypes.ErrTimeoutDueToConnectionLost: ErrUnclear,
	rpctypes.ErrTimeoutWaitAppliedIndex:    ErrUnclear,
	rpctypes.ErrLeaderChanged:              ErrUnclear,
}

// classify wraps an error of a gRPC call with its kind.
func classify(err error) error {
	if err == nil {
		return nil
	}
	known := rpctypes.Error(err)
	for from, kind := range kinds {
		if errors.Is(known, from) {
			return fmt.Errorf("%w: %s", kind, text(err))
		}
	}
	switch {
	case text(err) == rpctypes.ErrorDesc(rpctypes.ErrGRPCNotSupportedForLearner):
		return fmt.Errorf("%w: %s", ErrLearner, text(err))
	case errors.Is(err, context.DeadlineExceeded), status.Code(err) == codes.DeadlineExceeded, status.Code(err) == codes.Canceled:
		return fmt.Errorf("%w: no answer in time", ErrUnclear)
	case strings.Contains(text(err), workload.ErrRefused.Error()):
		// gRPC keeps only the text of what a connection failed with.
		return ErrNotRunning
	case status.Code(err) == codes.Unavailable:
		return fmt.Errorf("%w: %s", ErrUnreachable, text(err))
	default:
		return errors.New(text(err))
	}
}

// text is the message without gRPC's framing.
func text(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

// spoils tells whether a connection must not be used again after this error.
func spoils(err error) bool {
	return errors.Is(err, ErrUnclear) || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrNotRunning)
}
