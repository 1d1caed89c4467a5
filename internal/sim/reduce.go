package sim

// reduce goes on to a World that stands for this one in an exploration: all
// that can go wrong from here can go wrong from there. Two kinds of things are
// left out. What nobody asks for any more, neither the planner nor the guards
// nor the surroundings, is forgotten. And what core and infrastructure do by
// themselves next, whatever else happens, has happened: it changes nothing for
// anybody else, so it does not matter in which order with all the rest.
//
// Stories, walks and replays see the whole World. That nothing is lost is
// tested: a run without it reaches no state that a run with it does not stand for.
func (r rules) reduce(w *World) {
	if r.whole {
		return
	}
	_, staying := w.machines()
	stays := staying > 0 && !w.WholeDeleted
	for i := range w.Servers {
		s := &w.Servers[i]
		if w.WholeDeleted {
			s.forgetAllButMachine()
		}
		if s.Machine() != Deleting {
			continue
		}
		if !s.listed() {
			s.forgetMemberless()
		}
		s.forgetLeaving(stays && s.has(NodeRef), r.hooksGetLost)
	}
}

// forgetAllButMachine is for a control plane that goes as a whole: nobody asks
// for anything any more but how far the Machines are.
func (s *Server) forgetAllButMachine() {
	if s.Machine() == NoMachine {
		*s = 0
		return
	}
	*s &= 3<<machineAt | 7<<phaseAt | bothHooks | ForeignHook
}

// forgetLeaving is for a server whose Machine is being deleted; drains tells
// whether core drains it.
func (s *Server) forgetLeaving(drains, hooksGetLost bool) {
	s.clear(Outdated) // it is nobody's candidate any more
	if s.Phase() == NotBegun && drains {
		s.setPhase(WaitingForPreDrain) // until then the planner waits
	}
	if s.Phase() == WaitingForPreTerminate && s.has(PreDrainHook) && drains {
		s.setPhase(WaitingForPreDrain) // until then the planner waits
		s.set(Waited)
		s.clear(RemovesMembers)
	}
	if !s.has(PreDrainHook) {
		s.setExcluded(Included) // the pre-drain hook does not come back
		if s.Phase() == WaitingForPreDrain && !s.has(Waited) && !hooksGetLost {
			s.setPhase(Draining) // nobody holds core
		}
	}
	if s.Excluded() == JustExcluded && (s.Phase() != WaitingForPreDrain || s.neverWorks() && s.Node() != Ready && s.Node() != NoNode) {
		s.setExcluded(Settled)
	}
	if s.neverWorks() && s.Asked() == AskedForLong {
		s.setAsked(AskedForAWhile)
	}
}

// neverWorks tells whether its member will not answer ever again.
func (s Server) neverWorks() bool {
	return s.Host() == Dead || s.Host() == Gone || s&(TornDown|Corrupt|KubeletDead) != 0
}

// forgetMemberless forgets what matters only to a member. A server that had a
// Node has been in etcd's list, and does not join again.
func (s *Server) forgetMemberless() {
	const hooks = PreTerminateHook | ForeignHook
	s.setAsked(NotAsked)
	released := s.Phase() == WaitingForPreTerminate && *s&hooks == 0 || s.Phase() >= DeletingHost
	held := s.Phase() == WaitingForPreTerminate && *s&hooks != 0
	switch {
	case released && !s.canStillJoin():
		*s &= Provisioned
		s.setMachine(Deleting)
		s.setPhase(DeletingNode)
		s.setHost(Gone)
	case held && s.has(NodeRef) && !s.has(PreDrainHook):
		*s &= hooks | Provisioned | NodeRef
		s.setMachine(Deleting)
		s.setPhase(WaitingForPreTerminate)
		s.setHost(Gone)
	case s.has(NodeRef) && s.Host() != Gone:
		s.setHost(Dead)
		s.clear(TornDown | KubeletDead | Corrupt | RemovesMembers | Joined)
		if s.Node() == LongNotReady {
			s.setNode(NotReady)
		}
	}
}
