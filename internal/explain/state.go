package explain

import (
	"maps"
	"slices"

	"github.com/drover-project/drover/internal/model"
)

// state tells whether what is waited for ends by itself. A control plane of
// which nothing is to be changed is settled only if its servers are whole.
func state(in Input, d model.Decision, e Explanation) State {
	switch {
	case len(in.Paused) > 0:
		return Paused
	case d.Settled() && len(e.Broken)+len(e.Troubled)+len(e.Health) > 0:
		return HeldUp
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
	if w.Rule == healthRule && slices.ContainsFunc(w.Blockers, func(b model.Blocker) bool { return starts(s, b) }) {
		return false
	}
	if w.Operator || Of(w.Rule).Ends == BySomebody {
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

// starts: a server that was made a short while ago may still be starting.
func starts(s model.Snapshot, b model.Blocker) bool {
	m, ok := s.MachineByName(b.Name)
	return b.Kind == "Machine" && ok && !m.Deleting && s.Now.Sub(m.Created) < model.JoinTime
}

// Rules under which it depends on more than the rule who ends a wait.
const (
	drainRule  = "drain_comes_before_member"
	healthRule = "control_plane_is_healthy"
)

// neverJoins: a server that has had all the time to join, or that can't any
// more, and is none yet.
func neverJoins(s model.Snapshot, m model.Machine) bool {
	switch {
	case m.Deleting, !m.HostGone() && s.Now.Sub(m.Created) < model.JoinTime:
		return false
	case m.NodeName == "":
		return true
	case !s.Etcd.Members.Known, s.ControlPlane.ExternalDatastore:
		return false
	}
	member, listed := s.MemberOf(m.Name)
	return !listed || !member.Voter()
}

// broken are the Nodes and static pods of servers that stay and are not known
// to work, each in a sentence. Members are told of elsewhere.
func broken(s model.Snapshot) []string {
	var out []string
	for _, m := range s.Machines {
		if m.Deleting || m.NodeName == "" || !m.Node.Known {
			continue
		}
		if !m.Alive() {
			out = append(out, "Node "+m.NodeName+" of Machine "+m.Name+" is not Ready"+since(m.Node.Value.ReadySince, s.Now))
		}
		for _, name := range slices.Sorted(maps.Keys(m.Components)) {
			if c := m.Components[name]; !c.Known || !c.Value {
				out = append(out, name+" of Machine "+m.Name+": "+c.Reason)
			}
		}
	}
	return out
}
