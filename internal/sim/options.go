package sim

import (
	"errors"
	"time"

	"github.com/drover-project/drover/internal/plan"
)

// Options say what an exploration begins with and what may happen.
type Options struct {
	// Servers is spec.replicas, Surge is maxSurge.
	Servers, Surge int
	// Empty begins before the first server. Otherwise the run begins with all
	// servers up to date and, unless AtRest, also with all of them outdated.
	Empty, AtRest bool
	// External keeps the data in a datastore outside; the servers run no etcd.
	External bool
	// Hidden lets the servers run an etcd that can't be asked. What the
	// controller can't see it can't promise: two servers never become one, but
	// where hosts die or RKE2 is late with a removal, the quorum may be lost.
	Hidden bool
	// Direct lets the controller reach the members' client ports, so that it
	// needs no kubelets to ask them.
	Direct bool
	// Budget is what may go wrong and what users may do.
	Budget Budget
	// Stale lets the controller decide on sources that are one step behind.
	Stale bool
	// Blackouts lets sources be unreadable at any time.
	Blackouts bool
	// Restarts lets the controller lose its memory at any time.
	Restarts bool
	// NoHealthCheck leaves out the health check that marks the Machine of a
	// broken server. The goal is then not asked for while one is broken that a
	// rollout would not replace.
	NoHealthCheck bool
	// DeathInWindow lets servers fail while RKE2 removes a member.
	DeathInWindow bool
	// Whole keeps Worlds apart of which one could stand for the other. It takes
	// many times as long, and is for tests.
	Whole bool
	// Decide is the planner, nil for the product's own.
	Decide Decider
	// Without are live guards that the controller leaves out.
	Without Guard
	// Workers is the number of goroutines, 0 for one on each core.
	Workers int
	// MaxStates ends the exploration with an error, 0 for no limit.
	MaxStates int
	// Watch is called now and then; the exploration ends when it returns
	// false. Nil for never.
	Watch func(Figures) bool
	// Now is the clock that the figures are measured with, nil for none: then
	// Elapsed stays zero.
	Now func() time.Time
}

// Figures are the size and the cost of an exploration.
type Figures struct {
	// States is the number of different states, Transitions that of the moves
	// between them, Depth the length of the longest shortest way.
	States, Transitions uint64
	Depth               int
	// Goals is the number of states in which everything is as wished.
	Goals uint64
	// Views is how many different things the planner was shown.
	Views int
	// Elapsed is the time it took, Bytes the memory for the states, the ways
	// between them and the planner's judgements.
	Elapsed time.Duration
	Bytes   uint64
	Workers int
	// Largest is the number of states that Bytes are for.
	Largest uint64
}

// Result is what an exploration found.
type Result struct {
	Figures
	// Violation is the shortest story that breaks an invariant, nil if there
	// is none.
	Violation *Story
}

// Add adds another result to this one: what was walked, and how long it took.
// The memory is that of the one with the most states, for it is freed between
// two explorations.
func (r *Result) Add(o *Result) {
	if o.States > r.Largest {
		r.Largest, r.Bytes = o.States, o.Bytes
	}
	r.States += o.States
	r.Transitions += o.Transitions
	r.Goals += o.Goals
	r.Views += o.Views
	r.Elapsed += o.Elapsed
	r.Depth, r.Workers = max(r.Depth, o.Depth), o.Workers
	if r.Violation == nil {
		r.Violation = o.Violation
	}
}

// Errors of an exploration that has not seen everything.
var (
	// ErrBudget is returned when one fault may happen too often.
	ErrBudget = errors.New("a fault may happen three times at most")
	// ErrTooMany is returned when it meets its limit.
	ErrTooMany = errors.New("more states than the limit allows")
	// ErrEnded is returned when Watch ends it.
	ErrEnded = errors.New("ended before everything was explored")
)

// begin are the Worlds that a run begins with.
func (o Options) begin() []World {
	w := World{Replicas: uint8(o.Servers), Surge: uint8(o.Surge), Direct: o.Direct, External: o.External, Hidden: o.Hidden, Left: o.Budget}
	if o.Empty {
		return []World{w}
	}
	s := PreDrainHook | PreTerminateHook | Provisioned | NodeRef | Joined
	s.setMachine(Staying)
	s.setHost(Up)
	s.setNode(Ready)
	s.setMember(Voter)
	w.Initialized = true
	for i := range o.Servers {
		w.Servers[i] = s
	}
	if !o.External {
		w.Servers[0].set(Leader)
	}
	if o.AtRest {
		return []World{w}
	}
	outdated := w
	outdated.outdate()
	return []World{outdated, w}
}

func (o Options) decider() Decider {
	if o.Decide == nil {
		return plan.Decide
	}
	return o.Decide
}

// room is how many servers a run may have at once: the wished ones, the surge,
// one rescue, and what dead hosts leave in etcd's list.
func (o Options) room() int {
	n := o.Servers + o.Surge + 1 + int(o.Budget[ScaleUp])
	for _, f := range []Fault{Death, Freeze, KubeletDeath, Corruption, InfraLoss, EarlyStart, HookLoss} {
		n += int(o.Budget[f])
	}
	return min(n, MaxServers)
}
