package model

import "time"

// Decision is the planner's answer to a Snapshot: one Action, or one or more
// Waits, or neither when nothing is left to do.
type Decision struct {
	// Rule is the name of the rule that decided.
	Rule string `json:"rule"`
	// Action is what to do now. Nil when there is nothing to do yet.
	Action Action `json:"action,omitzero"`
	// Waits are what stands in the way, the deciding one first. The others
	// are Machines that are held meanwhile, so that each of them can say why.
	Waits []Wait `json:"waits,omitzero"`
}

// Settled tells whether the control plane is as wished and nothing is waited
// for.
func (d Decision) Settled() bool { return d.Action == nil && len(d.Waits) == 0 }

// Wait says why nothing is done, and what would end the waiting.
type Wait struct {
	// Rule is the name of the rule that waits.
	Rule string `json:"rule"`
	// Machine is the Machine that is held, if it is one.
	Machine string `json:"machine,omitzero"`
	// Message is one sentence for people.
	Message string `json:"message"`
	// Blockers are the objects that hold it up. Never empty.
	Blockers []Blocker `json:"blockers,omitzero"`
	// Operator is true when nothing ends the wait by itself: a person has to
	// act, or another controller.
	Operator bool `json:"operator,omitzero"`
	// Recheck is when to look again even if no watch reports a change. Zero
	// means that a watch will tell.
	Recheck time.Duration `json:"recheckNanoseconds,omitzero"`
}

// Blocker is one object that holds something up.
type Blocker struct {
	// Kind and Name identify the object, as in "Machine" "cp-1".
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Since is when it began to block, zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Unblock says what would end it.
	Unblock string `json:"unblock"`
}
