package trace

import (
	"errors"
	"fmt"
	"time"

	"github.com/drover-project/drover/internal/model"
)

// Version is the form of the records that this package writes and reads. Since
// version 2 an action has two lines: one before it, with the state Begun, and
// one with its outcome. Those of version 1 are read, too.
const Version = 2

// Record is one decision about a control plane: what it rests on, what it is,
// and what came of it.
type Record struct {
	// Time is when the record was made. Snapshot.Now is when the observation
	// ended.
	Time time.Time `json:"time"`
	// ControlPlane is namespace/name.
	ControlPlane string `json:"controlPlane"`
	// UID tells control planes of the same name apart.
	UID string `json:"uid"`
	// Unchanged is how many records were left out since the former one of
	// this control plane because they said the same, LastSeen is the time of
	// the last of them, and Lost is how many could not be written. The Writer
	// sets all three.
	Unchanged int       `json:"unchanged,omitzero"`
	LastSeen  time.Time `json:"lastSeen,omitzero"`
	Lost      int       `json:"lost,omitzero"`

	// Outcome is true for the second record of an action: it has nothing but the
	// result, and belongs to the record of the control plane before it.
	Outcome bool `json:"outcome,omitzero"`

	Snapshot model.Snapshot `json:"snapshot,omitzero"`
	Decision model.Decision `json:"decision,omitzero"`
	Result   Result         `json:"result"`
}

// Result is what came of a decision.
type Result struct {
	State State `json:"state"`
	// Reason says why an action was refused, or how it failed.
	Reason string `json:"reason,omitzero"`
}

// State is the outcome of a decision.
type State string

// The states.
const (
	// Begun means that the action is about to be carried out. If no outcome
	// follows, the process has ended meanwhile, and it is not known whether it
	// was.
	Begun State = "begun"
	// None means that there was no action to carry out.
	None State = "none"
	// Done means that the action was carried out.
	Done State = "done"
	// Refused means that the ground of the action was gone, and nothing was
	// changed.
	Refused State = "refused"
	// Failed means that a read or write failed: it is not known whether the
	// action was carried out.
	Failed State = "failed"
)

// line is a record as it is written.
type line struct {
	V int `json:"v"`
	Record
}

// check tells what makes a record that was read useless.
func (r Record) check() error {
	if r.ControlPlane == "" {
		return errors.New("controlPlane is missing")
	}
	switch r.Result.State {
	case Begun:
		if r.Outcome {
			return errors.New(`an outcome can't be "begun"`)
		}
		return nil
	case None, Done, Refused, Failed:
		return nil
	default:
		return fmt.Errorf("result.state %q is not known", r.Result.State)
	}
}
