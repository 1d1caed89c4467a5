package explain

import (
	"slices"

	"github.com/drover-project/drover/internal/model"
)

// state tells whether what is waited for ends by itself.
func state(in Input, d model.Decision) State {
	switch {
	case len(in.Paused) > 0:
		return Paused
	case d.Settled():
		return Settled
	case d.Action != nil:
		return InProgress
	}
	first := d.Waits[0]
	if stuck(in.Snapshot, first) || slices.ContainsFunc(in.Obstacles, func(o model.Obstacle) bool { return o.Stuck && concerns(o, first) }) {
		return HeldUp
	}
	return InProgress
}

// concerns tells whether an obstacle holds up what a wait is about.
func concerns(o model.Obstacle, w model.Wait) bool {
	return w.Machine == "" || o.Machine == w.Machine || slices.ContainsFunc(w.Blockers, func(b model.Blocker) bool {
		return b.Kind == "Machine" && b.Name == o.Machine
	})
}

// stuck tells whether a wait ends only when somebody does something: by its
// rule, by what blocks, or because it takes longer than it ever should.
func stuck(s model.Snapshot, w model.Wait) bool {
	if Of(w.Rule).Ends == BySomebody {
		return true
	}
	return slices.ContainsFunc(w.Blockers, func(b model.Blocker) bool { return blocked(s, w, b) })
}

func blocked(s model.Snapshot, w model.Wait, b model.Blocker) bool {
	switch b.Kind {
	case "Machine":
		m, ok := s.MachineByName(b.Name)
		return ok && (foreignHolds(m, w) || neverJoins(s, m))
	case "etcd member":
		return !slices.ContainsFunc(s.Etcd.Members.Value, func(m model.Member) bool { return m.Label() == b.Name && m.Learner })
	case "Cluster":
		return s.ControlPlane.Deleting && s.Cluster.Workers > 0 && !s.Cluster.Deleting
	case "Node":
		return false
	default:
		return true // a spec, a Secret, a template, an address, a way to etcd
	}
}

// foreignHolds: it is not drained because of the hook of somebody else.
func foreignHolds(m model.Machine, w model.Wait) bool {
	return w.Rule == drainRule && m.Phase == model.PhaseWaitingForPreDrain && len(m.ForeignPreDrain) > 0
}

const drainRule = "drain_comes_before_member"

// neverJoins: a server that has had all the time to join, or that can't any
// more, and is none yet.
func neverJoins(s model.Snapshot, m model.Machine) bool {
	gone := m.InfrastructureGone.Known && m.InfrastructureGone.Value
	switch {
	case m.Deleting, !gone && s.Now.Sub(m.Created) < model.JoinTime:
		return false
	case m.NodeName == "":
		return true
	case !s.Etcd.Members.Known, s.ControlPlane.ExternalDatastore:
		return false
	}
	member, listed := s.MemberOf(m.Name)
	return !listed || !member.Voter()
}
