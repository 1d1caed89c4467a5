package plan

import (
	"cmp"
	"slices"

	"github.com/drover-project/drover/internal/model"
)

// view is a Snapshot with the derived sets that several rules need. It holds
// nothing that is not computed from the Snapshot.
type view struct {
	model.Snapshot
	// staying are the Machines that nobody asked to delete.
	staying []model.Machine
	// deleting are the Machines with a deletion timestamp, the one that may
	// leave first.
	deleting []model.Machine
}

func newView(s model.Snapshot) view {
	v := view{Snapshot: s}
	for _, m := range s.Machines {
		if m.Deleting {
			v.deleting = append(v.deleting, m)
		} else {
			v.staying = append(v.staying, m)
		}
	}
	slices.SortStableFunc(v.deleting, v.compareLeaving)
	return v
}

// leaver is the one Machine that may leave now.
func (v view) leaver() (model.Machine, bool) {
	if len(v.deleting) == 0 {
		return model.Machine{}, false
	}
	return v.deleting[0], true
}

// compareLeaving orders deleting Machines: the one furthest on its way first,
// because what has begun must end before the next begins. Among those still
// held before the drain, a Machine without a working member costs least.
func (v view) compareLeaving(a, b model.Machine) int {
	return cmp.Or(
		cmp.Compare(progress(b), progress(a)),
		cmp.Compare(v.weight(a), v.weight(b)),
		a.DeletingSince.Compare(b.DeletingSince),
		cmp.Compare(a.Name, b.Name),
	)
}

// progress is how far core is with a deletion, larger is further.
func progress(m model.Machine) int {
	switch {
	case m.Phase.PastHooks(), !m.PreTerminateHook:
		return 4
	case m.Phase == model.PhaseWaitingForPreTerm:
		return 3
	case m.Phase == model.PhaseDraining, m.Phase == model.PhaseWaitingForVolumes:
		return 2
	case !m.PreDrainHook:
		return 1
	default:
		return 0
	}
}

// weight is what the loss of the Machine's member costs: nothing, a broken
// member, a working one.
func (v view) weight(m model.Machine) int {
	if !v.Etcd.Members.Known {
		return 0
	}
	switch member, listed := v.MemberOf(m.Name); {
	case !listed:
		return 0
	case !member.HealthyVoter():
		return 1
	default:
		return 2
	}
}

// heldBack gives a wait for each deleting Machine that is not the one leaving,
// so that every one of them can say why it stands still.
func (v view) heldBack() []model.Wait {
	leaver, ok := v.leaver()
	if !ok || v.wholeIsDeleted() {
		return nil
	}
	var out []model.Wait
	for _, m := range v.deleting[1:] {
		out = append(out, model.Wait{
			Rule:     OneServerLeavesAtATime,
			Machine:  m.Name,
			Message:  "Machine " + m.Name + " waits until Machine " + leaver.Name + " is gone: one server leaves at a time",
			Blockers: []model.Blocker{machineBlocker(leaver, "it ends when that Machine is gone")},
		})
	}
	return out
}

// OneServerLeavesAtATime is the rule that holds every deleted Machine but one.
// It is not a rule of its own in the list: the order in which view.deleting is
// sorted, and that every leaving rule looks at its first element only, is the
// rule.
const OneServerLeavesAtATime = "one_server_leaves_at_a_time"

func (v view) wholeIsDeleted() bool { return v.ControlPlane.Deleting || v.Cluster.Deleting }

// joined tells whether the Machine is a full server: its Node is registered
// and its member is a started voter. With an external datastore there is only
// the Node.
func (v view) joined(m model.Machine) bool {
	if m.NodeName == "" || v.ControlPlane.ExternalDatastore {
		return m.NodeName != ""
	}
	member, listed := v.MemberOf(m.Name)
	return listed && member.Voter() && member.Started()
}

// healthyVotersStaying counts the Machines that stay and have a working voter.
func (v view) healthyVotersStaying() int {
	n := 0
	for _, m := range v.staying {
		if member, ok := v.MemberOf(m.Name); ok && member.HealthyVoter() {
			n++
		}
	}
	return n
}

// outdated are the staying Machines that differ from the spec.
func (v view) outdated() []model.Machine {
	return slices.DeleteFunc(slices.Clone(v.staying), model.Machine.UpToDate)
}

// hostIsDead tells whether it is proven that the Machine's host no longer
// runs: its infrastructure is gone, or the API server knows of no Node, or
// has not heard of it for long. Unknown is not dead.
func (v view) hostIsDead(m model.Machine) bool {
	if m.InfrastructureGone.Known && m.InfrastructureGone.Value {
		return true
	}
	if m.NodeName == "" || !m.Node.Known {
		return false
	}
	node := m.Node.Value
	if !node.Exists {
		return true
	}
	return node.Ready != model.Yes && v.Now.Sub(node.ReadySince) >= model.DeadAfter
}
