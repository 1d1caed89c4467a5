package plan

import (
	"cmp"
	"slices"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// view is a Snapshot with the derived sets that several rules need. It holds
// nothing that is not computed from the Snapshot.
type view struct {
	model.Snapshot
	// machines are all Machines of the Snapshot.
	machines []*model.Machine
	// staying are the Machines that nobody asked to delete.
	staying []*model.Machine
	// deleting are the Machines with a deletion timestamp, the one that may
	// leave first.
	deleting []*model.Machine
}

// newView holds the Machines by pointer: there are millions of decisions in an
// exploration, and every rule goes through them.
func newView(s *model.Snapshot) *view {
	v := &view{Snapshot: *s}
	n := len(v.Machines)
	all := make([]*model.Machine, 0, 2*n)
	for i := range v.Machines {
		all = append(all, &v.Machines[i])
	}
	v.machines = all[:n:n]
	for _, deleting := range []bool{false, true} {
		for _, m := range v.machines {
			if m.Deleting == deleting {
				all = append(all, m)
			}
		}
		if !deleting {
			v.staying = all[n:len(all):len(all)]
		}
	}
	v.deleting = all[n+len(v.staying):]
	slices.SortStableFunc(v.deleting, v.compareLeaving)
	return v
}

// leaver is the one Machine that may leave now.
func (v *view) leaver() (*model.Machine, bool) {
	if len(v.deleting) == 0 {
		return nil, false
	}
	return v.deleting[0], true
}

// compareLeaving orders deleting Machines: the one furthest on its way first,
// because what has begun must end before the next begins. Among those still
// held before the drain, a Machine without a working member costs least.
func (v *view) compareLeaving(a, b *model.Machine) int {
	return cmp.Or(
		cmp.Compare(v.progress(b), v.progress(a)),
		cmp.Compare(v.weight(a), v.weight(b)),
		a.DeletingSince.Compare(b.DeletingSince),
		cmp.Compare(a.Name, b.Name),
	)
}

// progress is how far core is with a deletion, larger is further.
func (v *view) progress(m *model.Machine) int {
	switch {
	case m.Phase.PastHooks(), !m.PreTerminateHook:
		return 5
	case v.removalIsUnderWay(m):
		return 4
	case m.Phase == model.PhaseWaitingForPreTerm && !v.drainIsToCome(m):
		return 3
	case m.Phase == model.PhaseDraining, m.Phase == model.PhaseWaitingForVolumes:
		return 2
	case !m.PreDrainHook:
		return 1
	default:
		return 0
	}
}

// drainIsToCome tells whether core, although it waits for the pre-terminate
// hook, has not come past our pre-drain hook: the Machine had no Node when it
// was deleted, or no other control-plane Machine was to stay. Core goes through
// its hooks from the first one again whenever it looks, and will stop at the
// pre-drain hook as soon as that has changed (isDeleteNodeAllowed in
// core/reconcilers/machine of Cluster API 1.14).
func (v *view) drainIsToCome(m *model.Machine) bool {
	return m.Phase == model.PhaseWaitingForPreTerm && m.PreDrainHook && m.NodeName != "" && len(v.staying) > 0
}

// removalIsUnderWay tells whether RKE2 was asked to remove the Machine's member
// and has not done so. The member may stop at any moment, and until it is off
// the list it counts against the quorum.
func (v *view) removalIsUnderWay(m *model.Machine) bool {
	_, listed := v.MemberOf(m.Name)
	return listed && m.Node.Known && m.Node.Value.RemovalAsked
}

// someOtherRemoval tells whether RKE2 is removing the member of another Machine.
// Two removals at once are counted as if each were the only one, and together
// can cost the quorum.
func (v *view) someOtherRemoval(than string) bool {
	_, busy := v.removalOfAnother(than)
	return busy
}

// removalOfAnother gives the other Machine whose member RKE2 is removing.
func (v *view) removalOfAnother(than string) (*model.Machine, bool) {
	i := slices.IndexFunc(v.machines, func(m *model.Machine) bool { return m.Name != than && v.removalIsUnderWay(m) })
	if i < 0 {
		return nil, false
	}
	return v.machines[i], true
}

// weight is what the loss of the Machine's member costs: nothing, a broken
// member, a working one.
func (v *view) weight(m *model.Machine) int {
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
func (v *view) heldBack() []model.Wait {
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

func (v *view) wholeIsDeleted() bool { return v.ControlPlane.Deleting || v.Cluster.Deleting }

// joined tells whether the Machine is a full server: its Node is registered
// and its member is a started voter. With an external datastore there is only
// the Node.
func (v *view) joined(m *model.Machine) bool {
	if m.NodeName == "" || v.ControlPlane.ExternalDatastore {
		return m.NodeName != ""
	}
	member, listed := v.MemberOf(m.Name)
	return listed && member.Voter() && member.Started()
}

// healthyVotersStaying counts the Machines that stay and have a working voter.
func (v *view) healthyVotersStaying() int {
	n := 0
	for _, m := range v.staying {
		if member, ok := v.MemberOf(m.Name); ok && member.HealthyVoter() {
			n++
		}
	}
	return n
}

// outdated are the staying Machines that differ from the spec.
func (v *view) outdated() []*model.Machine {
	return slices.DeleteFunc(slices.Clone(v.staying), (*model.Machine).UpToDate)
}

// hostIsDead tells whether it is proven that the Machine's host no longer
// runs: its infrastructure is gone, or the API server knows of no Node, or
// has not heard of it for long. Unknown is not dead.
func (v *view) hostIsDead(m *model.Machine) bool {
	if m.HostGone() {
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

// isDeadWeight tells whether it is proven that a server does nothing any more,
// and that nothing is lost with it: the others have the quorum, or answer where
// the data are in an external datastore.
func (v *view) isDeadWeight(m *model.Machine) bool {
	if !v.hostIsDead(m) {
		return false
	}
	if v.ControlPlane.ExternalDatastore {
		return v.anotherWorks(m)
	}
	member, listed := v.MemberOf(m.Name)
	return listed && !member.Healthy() && quorum.AfterRemoval(v.Etcd.Members.Value, member.ID).OK
}

// anotherWorks tells whether there is another server that stays and answers.
func (v *view) anotherWorks(than *model.Machine) bool {
	return slices.ContainsFunc(v.staying, func(m *model.Machine) bool { return m != than && m.Alive() })
}

// dataAreElsewhere tells whether the data survive all servers.
func (v *view) dataAreElsewhere() bool {
	return v.ControlPlane.ExternalDatastore && !v.ControlPlane.HiddenEtcd
}
