package sim

// faultSteps are the failures that may still happen to a server.
func (r rules) faultSteps(out []Step, w *World, n int8) []Step {
	s := w.Servers[n]
	host := s.Host()
	if host == Frozen {
		out = add(out, HostThaws, n)
	}
	if r.deathInWindow || !w.removalWindow(n) {
		out = breakages(out, w, n)
	}
	if w.Left[NodeDelete] > 0 && s.Machine() != NoMachine && s.Node() != NoNode && !s.untold() && !s.terminating() && (r.deathInWindow || !w.removalWindow(n) && !w.joinerLetGo(n)) {
		out = add(out, NodeDeleted, n)
	}
	if s.Machine() == NoMachine || s.Phase() > WaitingForPreTerminate {
		return out
	}
	if w.Left[Foreign] > 0 && s&(PreTerminateHook|ForeignHook) == PreTerminateHook {
		out = add(out, ForeignHookAdded, n)
	}
	if w.Left[EarlyStart] > 0 && host == Unprovisioned {
		out = add(out, HostStartsEarly, n)
	}
	if w.Left[HookLoss] > 0 && s&(PreDrainHook|PreTerminateHook) != 0 {
		out = add(out, HooksStripped, n)
	}
	if w.Left[UserDelete] > 0 && s.Machine() == Staying {
		out = add(out, UserDeletes, n)
	}
	return out
}

// breakages are the failures that can stop a voter.
func breakages(out []Step, w *World, n int8) []Step {
	s := w.Servers[n]
	host := s.Host()
	if w.Left[Death] > 0 && (host == Up || host == Frozen) {
		out = add(out, HostDies, n)
	}
	if w.Left[Freeze] > 0 && host == Up {
		out = add(out, HostFreezes, n)
	}
	if w.Left[KubeletDeath] > 0 && host == Up && s.Node() != NoNode && !s.has(KubeletDead) {
		out = add(out, KubeletDies, n)
	}
	if w.Left[InfraLoss] > 0 && host != Gone && host != Unprovisioned && s.Machine() != NoMachine {
		out = add(out, InfrastructureLost, n)
	}
	if w.Left[Corruption] > 0 && s.works() {
		out = add(out, EtcdBreaks, n)
	}
	return out
}

// removalWindow tells whether another server's member is about to stop and
// still counts: RKE2 was asked to remove it, and stops and removes it in unknown
// order, or its server was let go before it had joined, and joins all the same.
// See docs/safety.md.
func (w *World) removalWindow(n int8) bool {
	for i, s := range w.Servers {
		joining := s.listed() && s.Member() != Voter && s.condemned()
		if int8(i) != n && (s.Host() == Up || s.Host() == Frozen) && (joining || s.listed() && s.askedByNode()) {
			return true
		}
	}
	return false
}

// joinerLetGo tells whether another server was let go that may still join. A
// host that dies keeps it from joining, but one whose Node was deleted works on
// for a while.
func (w *World) joinerLetGo(n int8) bool {
	for i, s := range w.Servers {
		if int8(i) != n && s.condemned() && !s.listed() && s.canStillJoin() {
			return true
		}
	}
	return false
}

// canStillJoin tells whether a server that is in no list may get into it.
func (s Server) canStillJoin() bool {
	if s&(NodeRef|Joined|Late|TornDown) != 0 {
		return false
	}
	return s.Host() == Unprovisioned || s.Host() == Up || s.Host() == Frozen
}

// spends is the fault that a step takes from the Budget.
func spends(k Kind) (Fault, bool) {
	switch k {
	case HostDies:
		return Death, true
	case HostFreezes:
		return Freeze, true
	case KubeletDies:
		return KubeletDeath, true
	case EtcdBreaks:
		return Corruption, true
	case NodeDeleted:
		return NodeDelete, true
	case RKE2FallsSilent:
		return Silence, true
	case ForeignHookAdded:
		return Foreign, true
	case HooksStripped:
		return HookLoss, true
	case InfrastructureLost:
		return InfraLoss, true
	case HostStartsEarly:
		return EarlyStart, true
	case UserDeletes:
		return UserDelete, true
	case UserScalesUp:
		return ScaleUp, true
	case UserScalesDown:
		return ScaleDown, true
	case UserUpgrades:
		return Upgrade, true
	case UserDeletesAll:
		return WholeDelete, true
	default:
		return 0, false
	}
}

func (w *World) applyFault(st Step) {
	if fault, limited := spends(st.Kind); limited {
		w.Left[fault]--
	}
	switch st.Kind {
	case RKE2FallsSilent:
		w.Silent = true
	case UserScalesUp:
		w.Replicas++
	case UserScalesDown:
		w.Replicas--
	case UserUpgrades:
		w.outdate()
	case UserDeletesAll:
		w.WholeDeleted = true
	case ControllerRestarts:
		w.forgetAges()
	default:
		w.Servers[st.Server].suffer(st.Kind)
	}
}

func (s *Server) suffer(k Kind) {
	switch k {
	case HostDies:
		s.setHost(Dead)
	case HostFreezes:
		s.setHost(Frozen)
	case HostThaws:
		s.setHost(Up)
	case KubeletDies:
		s.set(KubeletDead)
	case EtcdBreaks:
		s.set(Corrupt)
	case NodeDeleted:
		s.set(Terminating)
		if s.Asked() == NotAsked {
			s.setAsked(JustAsked)
		}
	case ForeignHookAdded:
		s.set(ForeignHook)
	case HooksStripped:
		s.clear(PreDrainHook | PreTerminateHook)
	case InfrastructureLost:
		s.setHost(Gone)
	case HostStartsEarly:
		s.setHost(Up)
	case UserDeletes:
		s.setMachine(Deleting)
	case LeaderLost:
		s.clear(Leader)
	default:
	}
}
