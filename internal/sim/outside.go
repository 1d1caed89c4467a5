package sim

// outsideSteps is what a server does whose data are in an external datastore: it
// takes what it needs from there, and joins nobody.
func outsideSteps(out []Step, w *World, n int8) []Step {
	s := w.Servers[n]
	if s.has(Provisioned) && w.canRegister(s) {
		out = add(out, NodeRegisters, n)
	}
	if w.Quorum() {
		out = nodeSteps(out, w, n)
	}
	return out
}

// seemsToWork tells whether a server works as far as anybody can know. Where
// there are no members to ask, its Node says so: it is Ready for a while after
// the server's end, and not yet when it has come back.
func (w *World) seemsToWork(s Server) bool {
	if w.unseen() {
		return s.listed() && s.Node() == Ready
	}
	return s.works()
}

// lastServes holds the release of a server to I12 where nobody counts members:
// the last one that works stays until another one does. Beyond the Machines that
// may exist in order, one has to make room.
func (w *World) lastServes(on int) string {
	all, _ := w.machines()
	s := w.Servers[on]
	if !w.unseen() || !w.kubeletWorks(s) || !w.seemsToWork(s) || w.WholeDeleted || all > int(w.Replicas+w.Surge) {
		return ""
	}
	for i, other := range w.Servers {
		if i != on && other.Machine() == Staying && w.seemsToWork(other) {
			return ""
		}
	}
	return tooFewStay
}
