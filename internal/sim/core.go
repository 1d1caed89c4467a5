package sim

// coreSteps is Cluster API's core with a Machine that is being deleted
// (internal/controllers/machine, v1.14): hooks, drain, hooks, host, Node.
func coreSteps(out []Step, w *World, n int8) []Step {
	s := w.Servers[n]
	if s.Machine() != Deleting {
		return out
	}
	switch s.Phase() {
	case NotBegun:
		return add(out, CoreBegins, n)
	case WaitingForPreDrain:
		if !s.has(PreDrainHook) || !w.drains(s) {
			return add(out, CoreDrains, n)
		}
	case Draining:
		if !w.drains(s) || s.Node() != Ready || s.Host() == Gone || w.kubeletWorks(s) {
			return finishedDrain(out, w, n)
		}
	case WaitingForPreTerminate:
		if s&(PreTerminateHook|ForeignHook) == 0 {
			return add(out, CorePassesHooks, n)
		}
	case DeletingHost:
		return add(out, HostDestroyed, n)
	case DeletingNode:
		return add(out, MachineGone, n)
	}
	return out
}

// finishedDrain comes in two variants for a server that RKE2's controller may
// run on: that is seen here for the first time, and matters from here on only.
func finishedDrain(out []Step, w *World, n int8) []Step {
	out = add(out, CoreFinishesDrain, n)
	if s := w.Servers[n]; w.kubeletWorks(s) {
		out = append(out, Step{Kind: CoreFinishesDrain, Server: n, Variant: 1})
	}
	return out
}

// drains tells whether core drains the Machine's Node at all: there must be
// one, another control-plane Machine, and a control plane that lives on.
func (w *World) drains(s Server) bool {
	all, _ := w.machines()
	return s.has(NodeRef) && !w.WholeDeleted && all > 1
}

func (w *World) applyCore(st Step, s *Server) {
	switch st.Kind {
	case CoreBegins:
		switch {
		case !w.drains(*s):
			s.setPhase(WaitingForPreTerminate)
		case s.has(PreDrainHook):
			s.setPhase(WaitingForPreDrain)
		default:
			s.setPhase(Draining)
		}
	case CoreDrains:
		s.setPhase(Draining)
	case CoreFinishesDrain:
		s.setPhase(WaitingForPreTerminate)
		if st.Variant == 1 {
			s.set(RemovesMembers)
		}
	case CorePassesHooks:
		s.setPhase(DeletingHost)
	case HostDestroyed:
		s.setHost(Gone)
		s.setPhase(DeletingNode)
	case MachineGone:
		s.setMachine(NoMachine)
		s.setNode(NoNode)
	default:
	}
}
