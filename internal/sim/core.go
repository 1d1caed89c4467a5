package sim

// coreSteps is Cluster API's core with a Machine that is being deleted
// (core/reconcilers/machine, v1.14): hooks, drain, hooks, host, Node. It goes
// through them from the beginning each time it looks.
func coreSteps(out []Step, w *World, n int8) []Step {
	s := w.Servers[n]
	if s.Machine() != Deleting {
		return out
	}
	if s.untold() {
		return add(out, CoreTellsOfNode, n)
	}
	if w.canFindNode(s) {
		out = add(out, CoreFindsNode, n)
	}
	switch s.Phase() {
	case NotBegun:
		return add(out, CoreBegins, n)
	case WaitingForPreDrain:
		if !s.has(PreDrainHook) || !w.drains(s) {
			return withRemover(out, w, Step{Kind: CoreDrains, Server: n})
		}
	case Draining:
		if !w.drains(s) || s.Node() != Ready || s.Host() == Gone || w.kubeletWorks(s) {
			return withRemover(out, w, Step{Kind: CoreFinishesDrain, Server: n})
		}
	case WaitingForPreTerminate:
		switch {
		case s.has(PreDrainHook) && w.drains(s):
			return add(out, CoreComesBack, n)
		case s&(PreTerminateHook|ForeignHook) == 0:
			return add(out, CorePassesHooks, n)
		}
	case DeletingHost:
		return add(out, HostDestroyed, n)
	case DeletingNode:
		return add(out, MachineGone, n)
	}
	return out
}

// canFindNode tells whether core may find the Node in the moment in which it
// looks at the Machine, and so comes to its first hook at once.
func (w *World) canFindNode(s Server) bool {
	held := s.Phase() == WaitingForPreTerminate && s&(PreTerminateHook|ForeignHook) != 0
	if s.Phase() != NotBegun && !held || !s.has(PreDrainHook) {
		return false
	}
	known := s
	known.set(NodeRef)
	return w.drains(known) && w.canRegister(s)
}

// untold tells whether core has found the Node and not told of it.
func (s Server) untold() bool {
	return s.Machine() == Deleting && s.Node() != NoNode && !s.has(NodeRef)
}

// deletesNode tells whether core deletes the Node, which is seen before its
// Machine is gone.
func (w *World) deletesNode(s Server) bool {
	return s.Machine() == Deleting && s.Phase() == DeletingNode && s.Node() != NoNode && w.drains(s)
}

// withRemover adds the step in two variants for a server that RKE2's
// controller may run on: that is found out here, and matters from here on only.
func withRemover(out []Step, w *World, st Step) []Step {
	out = append(out, st)
	if s := w.Servers[st.Server]; !w.unseen() && w.kubeletWorks(s) && (st.Kind == CoreFinishesDrain || s.has(Waited) || !w.drains(s)) {
		st.Variant = 1
		out = append(out, st)
	}
	return out
}

// drains tells whether core drains the Machine's Node and deletes it in the
// end: there must be one, another control-plane Machine that nobody deleted,
// and a control plane that lives on.
func (w *World) drains(s Server) bool {
	_, staying := w.machines()
	return s.has(NodeRef) && !w.WholeDeleted && staying > 0
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
		if w.drains(*s) && !s.has(Waited) {
			s.setPhase(Draining)
			return
		}
		s.reachPreTerminate(st)
	case CoreFinishesDrain:
		s.reachPreTerminate(st)
	case CoreComesBack:
		s.setPhase(WaitingForPreDrain)
		s.set(Waited)
		s.clear(RemovesMembers)
	case CoreFindsNode:
		if s.Phase() == WaitingForPreTerminate {
			s.set(Waited)
		}
		s.setPhase(WaitingForPreDrain)
		s.clear(RemovesMembers)
		w.register(s)
	case CoreTellsOfNode:
		s.set(NodeRef | Provisioned)
		s.clear(Aged)
	case CorePassesHooks:
		s.setPhase(DeletingHost)
	case HostDestroyed:
		s.setHost(Gone)
		s.setPhase(DeletingNode)
	case MachineGone:
		if w.drains(*s) {
			s.setNode(NoNode)
		}
		if s.terminating() {
			s.setNode(NoNode)
		}
		s.clear(Marked | Terminating)
		s.setMachine(NoMachine)
		if !w.Initialized {
			*s = 0 // the next first server begins a cluster of its own
		}
	default:
	}
}

// reachPreTerminate is where core stays until the pre-terminate hooks go.
func (s *Server) reachPreTerminate(st Step) {
	s.setPhase(WaitingForPreTerminate)
	s.clear(Waited | RemovesMembers)
	if st.Variant == 1 {
		s.set(RemovesMembers)
	}
}
