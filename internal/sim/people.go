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
	if s.Unmatched() < s.oldest() {
		out = add(out, OrphanAges, n)
	}
	if s.Machine() != NoMachine && s.has(Provisioned) && s&(NodeRef|Late) == 0 && !s.listed() {
		out = add(out, JoinTakesLong, n)
	}
	return out
}

// oldest is the age that the member can get to without a known Machine. What
// its Machine is, is known before a join must be over.
func (s Server) oldest() Age {
	switch {
	case s.unclaimed():
		return PastGrace
	case s.Machine() == NoMachine && s.listed():
		return PastJoinWindow
	default:
		return JustSeen
	}
}

// age lets time pass for a member without a known Machine.
func (s *Server) age() {
	if s.unclaimed() {
		s.set(Aged)
		return
	}
	s.setUnmatched(s.Unmatched() + 1)
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
		switch s := &w.Servers[i]; {
		case s.unclaimed():
			s.clear(Aged)
		case s.Machine() == NoMachine:
			s.setUnmatched(JustSeen)
		}
	}
}
