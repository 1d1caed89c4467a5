package sim

import "slices"

// distance is the number of servers that look different, and of the phases of
// their deletion that lie between.
func (w *World) distance(o *Sighting) int {
	v := look(w)
	n := 0
	if o.of&Management != 0 && (v.Replicas != o.View.Replicas || v.Surge != o.View.Surge || v.Initialized != o.View.Initialized || v.WholeDeleted != o.View.WholeDeleted) {
		n++
	}
	for i := range v.Servers {
		if (v.Servers[i]^o.View.Servers[i])&o.visible(i) != 0 {
			n += 1 + max(0, o.View.Servers[i].server().towardsEnd()-v.Servers[i].server().towardsEnd())
		}
	}
	return n
}

// towardsEnd is how far a Machine has come on its way out.
func (s Server) towardsEnd() int {
	switch s.Machine() {
	case Staying:
		return 0
	case Deleting:
		return 1 + int(s.Phase())
	default:
		return 2 + int(DeletingNode)
	}
}

// visible are the bits of a server that could be seen. A member that could not
// be asked may be well, and any may lead when none could be: RKE2's supervisor
// lists them without telling.
func (o *Sighting) visible(i int) Sight {
	bits := fromManagement
	if !o.View.WorkloadUnknown {
		bits |= fromWorkload &^ Sight(RemovesMembers)
	}
	if !o.View.EtcdUnknown {
		bits |= fromEtcd
		if o.View.Servers[i].answers() == CannotAsk {
			bits &^= 3 << answersAt
		}
		if !slices.ContainsFunc(o.View.Servers[:], func(s Sight) bool { return s.answers() != CannotAsk }) {
			bits &^= Sight(Leader)
		}
	}
	if o.View.Servers[i].server().has(NodeRef) {
		bits &^= Sight(Provisioned) // its Node is found by what core writes before it says so
	}
	if o.View.Servers[i].server().Machine() == Deleting {
		bits &^= Sight(Outdated) // what it is compared by may be gone already, and it is nobody's candidate
	}
	if o.View.Servers[i].server().Machine() == NoMachine {
		// Hosts are known by their Machine alone, and so are Nodes.
		bits &^= hostIsGone | Sight(NodeRef) | fromWorkload
	}
	return bits & o.of.bits()
}
