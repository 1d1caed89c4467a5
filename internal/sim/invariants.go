package sim

// removalBreach holds the removal of a member, or the question to RKE2 to
// remove it, to the invariants. The World is the one before.
func (w *World) removalBreach(on int, abrupt bool) string {
	s := w.Servers[on]
	drainToCome := s.Phase() < WaitingForPreTerminate || s.has(PreDrainHook|NodeRef) && w.drains(s)
	if w.kubeletWorks(s) && s.Node() == Ready && s.Machine() != NoMachine && drainToCome {
		return "I1: a live server that is not drained loses its member"
	}
	if s.has(Leader) && s.sight().answers() == Answers {
		return "I5: a leader is removed that could have handed over"
	}
	for i, other := range w.Servers {
		if i != on && other.listed() && other.Asked() != NotAsked && other.Host() == Up && w.kubeletWorks(s) {
			return "I4: two members are being removed at once"
		}
	}
	all, working := 0, 0
	for i, other := range w.Servers {
		if other.Member() != Voter {
			continue
		}
		if i != on && other.runsEtcd() {
			working++
		}
		if i != on || abrupt {
			all++
		}
	}
	if all == 0 || working <= all/2 {
		return "I2: a removal costs the quorum"
	}
	return ""
}

// twoLeave tells whether another server is on its way out already when one
// begins: drained, or past that, with a host that lives.
func (w *World) twoLeave(on int) string {
	for i, other := range w.Servers {
		if i == on || other.Machine() != Deleting || other.Host() != Up || !other.has(NodeRef) || !other.listed() {
			continue
		}
		if other.pastPreDrain() && !other.has(PreDrainHook) && w.kubeletWorks(other) {
			return "I4: two servers are on their way out"
		}
	}
	return ""
}

// stepBreach holds a step of the surroundings to I2: what RKE2 does because we
// asked it must not cost the quorum either.
func stepBreach(st Step, before, after *World) string {
	if st.Kind != PodsTornDown && st.Kind != RKE2RemovesMember {
		return ""
	}
	if before.Servers[st.Server].Asked() != NotAsked && before.Quorum() && !after.Quorum() {
		return "I2: RKE2, asked by us to remove a member, costs the quorum"
	}
	return ""
}

// reached tells whether the World is as wished. The planner must agree that
// nothing is left to do.
func (w *World) reached() bool {
	if w.WholeDeleted {
		all, _ := w.machines()
		return all == 0
	}
	n := 0
	for _, s := range w.Servers {
		if s == 0 {
			continue
		}
		if s.Machine() != Staying || s.has(Outdated) || !s.has(PreDrainHook|PreTerminateHook) || s.Node() != Ready || !w.kubeletWorks(s) {
			return false
		}
		n++
	}
	return n == int(w.Replicas) && w.leader() >= 0
}
