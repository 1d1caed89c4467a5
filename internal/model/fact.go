package model

import "time"

// Fact is something that was looked at: either a known value, or unknown with
// a reason. The zero Fact is unknown without a reason.
type Fact[T any] struct {
	// Value is meaningful only when Known is true.
	Value T `json:"value"`
	// Known tells whether the look succeeded.
	Known bool `json:"known"`
	// Reason says in one sentence why the value is unknown, or, for a known
	// value that is bad news, what is wrong.
	Reason string `json:"reason,omitzero"`
	// At is when the look that gave this fact was made. Zero when it was
	// never made.
	At time.Time `json:"at,omitzero"`
}

// Known returns a fact that was observed at the given time.
func Known[T any](value T, at time.Time) Fact[T] {
	return Fact[T]{Value: value, Known: true, At: at}
}

// Unknown returns a fact that could not be observed, and why.
func Unknown[T any](reason string, at time.Time) Fact[T] {
	return Fact[T]{Reason: reason, At: at}
}

// Age is how old the fact is at the given time.
func (f Fact[T]) Age(now time.Time) time.Duration {
	if f.At.IsZero() {
		return 0
	}
	return now.Sub(f.At)
}

// Tri is a truth value that may be unknown. It is used where the reason does
// not matter, above all for Node readiness.
type Tri int

// The values of Tri.
const (
	Unclear Tri = iota
	Yes
	No
)

// TriOf turns a known truth into a Tri.
func TriOf(b bool) Tri {
	if b {
		return Yes
	}
	return No
}
