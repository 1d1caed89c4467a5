package explain

import (
	"slices"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// Step is one step of the order in which a server leaves, counted from 1. Zero
// is none of them.
type Step int

// The order in which a server leaves.
const (
	ReplacementVotes Step = 1 + iota
	ItsTurn
	LoadBalancers
	Drain
	Quorum
	Leadership
	MemberRemoval
	Release
	Destruction
	// Steps is their number.
	Steps = int(Destruction)
)

// titles name the steps as something that is to be reached.
var titles = [Steps + 1]string{
	ReplacementVotes: "its replacement has joined and votes",
	ItsTurn:          "no other server is on its way out",
	LoadBalancers:    "load balancers have let go of it",
	Drain:            "it is drained, its volumes are detached and the hooks of others are done",
	Quorum:           "the others keep quorum without it",
	Leadership:       "leadership has moved to another voter",
	MemberRemoval:    "its etcd member is removed",
	Release:          "etcd's own list confirms it, and the host is released",
	Destruction:      "its host is destroyed and its Machine gone",
}

// String says what is reached with the step.
func (s Step) String() string {
	if s < 0 || int(s) > Steps {
		return ""
	}
	return titles[s]
}

// Leaving is where a server stands that is on its way out.
type Leaving struct {
	Machine string `json:"machine"`
	// Step of Steps is the one it is at, Title what is reached with it.
	Step  Step   `json:"step"`
	Steps int    `json:"steps"`
	Title string `json:"title"`
	// Phase is where Cluster API's core stands, Since since when, Detail its
	// own words.
	Phase  model.Phase `json:"phase,omitzero"`
	Since  time.Time   `json:"since,omitzero"`
	Detail string      `json:"detail,omitzero"`
	// Behind are the Machines that wait for their turn.
	Behind []string `json:"behind,omitzero"`
}

// leaving finds the server that is on its way out: the deleted one that is not
// held for its turn. It is nil when none is, or when everything is deleted.
func leaving(s model.Snapshot, d model.Decision) *Leaving {
	if s.ControlPlane.Deleting || s.Cluster.Deleting {
		return nil
	}
	var behind []string
	for _, w := range d.Waits {
		if w.Rule == plan.OneServerLeavesAtATime {
			behind = append(behind, w.Machine)
		}
	}
	for _, m := range s.Machines {
		if !m.Deleting || slices.Contains(behind, m.Name) {
			continue
		}
		step := stepOf(m, d)
		if m.Phase == model.PhaseNotDeleting {
			m.Phase, m.PhaseSince, m.Detail = model.PhaseNone, m.DeletingSince, ""
		}
		return &Leaving{
			Machine: m.Name, Step: step, Steps: Steps, Title: step.String(),
			Phase: m.Phase, Since: m.StandsSince(), Detail: m.Detail, Behind: behind,
		}
	}
	return nil
}

// stepOf goes by the rule that waits for the Machine or by the action about it,
// and else by where core stands.
func stepOf(m model.Machine, d model.Decision) Step {
	for _, w := range d.Waits {
		step := table[w.Rule].Step
		if step == Drain && m.PreDrainHook && (m.Phase == model.PhaseNone || m.Phase == model.PhaseNotDeleting) {
			return LoadBalancers // core has not even come to our hook
		}
		if w.Machine == m.Name && step != 0 {
			return step
		}
	}
	if step := table[d.Rule].Step; d.Action != nil && step != 0 && actsFor(d.Action, m.Name) {
		return step
	}
	switch {
	case m.Phase.PastHooks():
		return Destruction
	case m.Phase == model.PhaseWaitingForPreTerm:
		return Quorum
	case m.Phase == model.PhaseDraining, m.Phase == model.PhaseWaitingForVolumes, !m.PreDrainHook:
		return Drain
	default:
		return ReplacementVotes
	}
}

// actsFor tells whether an action is about a Machine that leaves. One that
// names none is for the sake of the one that leaves.
func actsFor(a model.Action, machine string) bool {
	about := MachineOf(a)
	return about == "" || about == machine
}

// MachineOf is the Machine that an action is about, empty for none.
func MachineOf(a model.Action) string {
	switch a := a.(type) {
	case model.DeleteMachine:
		return a.Machine
	case model.RestoreHooks:
		return a.Machine
	case model.ExcludeFromLoadBalancers:
		return a.Machine
	case model.ReleasePreDrainHook:
		return a.Machine
	case model.AskForMemberRemoval:
		return a.Machine
	case model.RemoveMember:
		return a.Machine
	case model.ReleasePreTerminateHook:
		return a.Machine
	case model.DropHooks:
		return a.Machine
	default:
		return ""
	}
}
