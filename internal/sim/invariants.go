package sim

// removalBreach holds the removal of a member, or the question to RKE2 to
// remove it, to the invariants. The World is the one before.
func (w *World) removalBreach(on int, abrupt bool) string {
	s := w.Servers[on]
	drainToCome := s.Phase() < WaitingForPreTerminate || s.has(PreDrainHook|NodeRef) && w.drains(s)
	if w.kubeletWorks(s) && s.Node() == Ready && s.Machine() != NoMachine && drainToCome {
		return "I1: a live server that is not drained loses its member"
	}
	if s.Machine() == Staying && (s.Host() == Up || s.Host() == Frozen) {
		return "I1: a server that may come back and that nobody deleted loses its member"
	}
	if s.has(Leader) && w.sight(s).answers() == Answers {
		return "I5: a leader is removed that could have handed over"
	}
	if s.has(ForeignHook) && s.Asked() == NotAsked && w.kubeletWorks(s) && !s.condemned() {
		return "I13: somebody else's hook is passed over"
	}
	if breach := w.tooFew(on); breach != "" {
		return breach
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

// I12, I14 and I16 hold for what the controller decides on the World as
// it is: whoever deletes or fails in the same moment might do so right after.
const (
	tooFewStay    = "I12: a server leaves before its replacement works"
	brokenFirst   = "I16: a healthy server is deleted while a broken one stays"
	stillBalanced = "I14: a server is drained before load balancers have let go of it"
)

// tooFew tells whether a healthy server begins to leave before those that stay
// are enough: all that are wished with maxSurge 1, one fewer with maxSurge 0.
// With no room for another replacement there may be fewer.
func (w *World) tooFew(on int) string {
	all, _ := w.machines()
	s := w.Servers[on]
	if !w.kubeletWorks(s) || !s.has(NodeRef) || s.condemned() || s.Asked() != NotAsked || all > int(w.Replicas+w.Surge) {
		return ""
	}
	if !w.seemsToWork(s) {
		return "" // nobody knows yet that it does
	}
	enough := int(w.Replicas)
	if w.Surge == 0 {
		enough--
	}
	for _, s := range w.Servers {
		if s.Machine() == Staying && w.seemsToWork(s) {
			enough--
		}
	}
	if enough > 0 {
		return tooFewStay
	}
	return ""
}

// healthyGoesBeforeBroken tells whether the controller begins to replace a
// server that works while another one that stays does not.
func (w *World) healthyGoesBeforeBroken(on int) string {
	s := w.Servers[on]
	if w.WholeDeleted || !w.kubeletWorks(s) || !w.seemsToWork(s) || s.condemned() || s.marked() && s.Node() != Ready {
		return "" // who has woken up and is still marked can't be told from one that is broken
	}
	for i, s := range w.Servers {
		if i != on && s.Machine() == Staying && s.Member() == Voter && s.broken() && s.Node() != Ready {
			return brokenFirst
		}
	}
	return ""
}

// drainBreach holds the release of a drain to the invariants.
func (w *World) drainBreach(on int) string {
	s := w.Servers[on]
	if all, _ := w.machines(); w.kubeletWorks(s) && s.Node() == Ready && s.Excluded() != Settled && all > 1 {
		return stillBalanced
	}
	if breach := w.tooFew(on); breach != "" {
		return breach
	}
	return w.twoLeave(on)
}

// someoneJoins tells whether a server that stays is on its way in while another
// one is made.
func (w *World) someoneJoins() string {
	for _, s := range w.Servers {
		if s.Machine() == Staying && s.Member() != Voter && !s.has(NodeRef) && (s.Host() == Unprovisioned || s.Host() == Up) {
			return "I15: two servers join at once"
		}
	}
	return ""
}

// lossBreach holds a move to I2: as long as nothing fails and nobody does
// anything, the quorum is not lost for good, whatever core and RKE2 do because
// of what we did.
func lossBreach(after *World, fault bool) string {
	if !fault && !after.WholeDeleted && after.Lost() {
		return "I2: the quorum is lost, and nothing failed just now"
	}
	return ""
}

// stepBreach holds a step of the surroundings to I2. The World before was not
// lost. Without our hooks core destroys a host before anybody can help it.
func (r rules) stepBreach(st Step, before, after *World) string {
	if (st.Kind == PodsTornDown || st.Kind == RKE2RemovesMember) && !before.WholeDeleted && !r.hooksGetLost {
		s := before.Servers[st.Server]
		byUs := s.Asked() != NotAsked && !s.terminating()
		if byUs && before.Quorum() && !after.Quorum() {
			return "I2: RKE2, asked by us to remove a member, costs the quorum"
		}
	}
	return lossBreach(after, !st.Progress() || r.hooksGetLost)
}

// awaitsOperator tells whether one or two servers work on, and nothing more is
// to come: with an etcd that can't be asked, a single server is not replaced, and
// two do not become one.
func (w *World) awaitsOperator() bool {
	if !w.Hidden || w.Replicas > 1 || w.WholeDeleted {
		return false
	}
	for _, s := range w.Servers {
		if s != 0 && (s.Machine() == NoMachine || s.Node() != Ready || !w.kubeletWorks(s)) {
			return false
		}
	}
	return true
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
	return n == int(w.Replicas) && (w.External || w.leader() >= 0)
}
