package sim

// clockSteps lets time pass where the planner measures it.
func clockSteps(out []Step, s Server, n int8) []Step {
	if s.Node() == NotReady {
		out = add(out, SilenceLasts, n)
	}
	if s.Excluded() == JustExcluded {
		out = add(out, LoadBalancersSettle, n)
	}
	if a := s.Asked(); a == JustAsked || a == AskedForAWhile {
		out = add(out, AskingLasts, n)
	}
	if s.Machine() == NoMachine && s.listed() && s.Unmatched() < PastJoinWindow {
		out = add(out, OrphanAges, n)
	}
	if s.Machine() != NoMachine && s.has(Provisioned) && s&(NodeRef|Late) == 0 && !s.listed() {
		out = add(out, JoinTakesLong, n)
	}
	return out
}

// peopleSteps are the health check that marks a Machine whose server is broken
// for long, the owner of a hook who is done, and upkeep.
func (r rules) peopleSteps(out []Step, s Server, n int8) []Step {
	if s.Machine() == Staying && s.marked() != s.brokenForLong() {
		switch {
		case s.marked():
			out = add(out, HealthCheckUnmarks, n)
		case !r.noHealthCheck:
			out = add(out, HealthCheckMarks, n)
		}
	}
	if s.has(ForeignHook) && (s.Machine() == Staying || s.Phase() == WaitingForPreTerminate) {
		out = add(out, ForeignHookRemoved, n)
	}
	if r.upkeep && s.Machine() == Staying && s&bothHooks != bothHooks {
		out = add(out, UpkeepBringsHooks, n)
	}
	return out
}

const bothHooks = PreDrainHook | PreTerminateHook

// brokenForLong is what a MachineHealthCheck acts on: a Node that has not been
// Ready for long, that is gone, or that never came.
func (s Server) brokenForLong() bool {
	switch {
	case s.Node() == LongNotReady:
		return true
	case s.has(NodeRef):
		return s.Node() == NoNode
	default:
		return s.Host() != Unprovisioned && s.Host() != Up || s&(Late|Corrupt|TornDown) != 0 || s.has(Joined) && !s.listed()
	}
}

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
	if w.Left[NodeDelete] > 0 && s.Machine() != NoMachine && s.Node() != NoNode && !s.terminating() && (r.deathInWindow || !w.removalWindow(n) && !w.joinerLetGo(n)) {
		out = add(out, NodeDeleted, n)
	}
	if s.Machine() == NoMachine || s.Phase() > WaitingForPreTerminate {
		return out
	}
	if w.Left[Foreign] > 0 && s&(PreTerminateHook|ForeignHook) == PreTerminateHook {
		out = add(out, ForeignHookAdded, n)
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

// userSteps are what a user may do to the whole.
func userSteps(out []Step, w *World) []Step {
	if w.Left[Silence] > 0 && !w.Silent {
		out = add(out, RKE2FallsSilent, -1)
	}
	if w.WholeDeleted {
		return out
	}
	if w.Left[ScaleUp] > 0 {
		out = add(out, UserScalesUp, -1)
	}
	if w.Left[ScaleDown] > 0 && w.Replicas > 1 && (w.Surge > 0 || w.Replicas > 3) {
		out = add(out, UserScalesDown, -1)
	}
	if w.Left[Upgrade] > 0 {
		out = add(out, UserUpgrades, -1)
	}
	if w.Left[WholeDelete] > 0 {
		out = add(out, UserDeletesAll, -1)
	}
	return out
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
	case UserDeletes:
		s.setMachine(Deleting)
	default:
	}
}

// outdate makes every Machine differ from the spec.
func (w *World) outdate() {
	for i := range w.Servers {
		if w.Servers[i].Machine() != NoMachine {
			w.Servers[i].set(Outdated)
		}
	}
}

// remembers tells whether the controller remembers anything.
func (w *World) remembers() bool {
	for _, s := range w.Servers {
		if s.Unmatched() != JustSeen {
			return true
		}
	}
	return false
}

func (w *World) forgetAges() {
	for i := range w.Servers {
		if w.Servers[i].Machine() == NoMachine {
			w.Servers[i].setUnmatched(JustSeen)
		}
	}
}
