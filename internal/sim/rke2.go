package sim

// hostSteps is what infrastructure, RKE2, etcd and the kubelet of a server do.
func hostSteps(out []Step, w *World, n int8, quorum bool) []Step {
	s := w.Servers[n]
	// A host that is still being made when core may destroy it does not get as
	// far as to join before that.
	released := s.Machine() == Deleting && s.Phase() == WaitingForPreTerminate && s&(PreTerminateHook|ForeignHook) == 0
	if s.Host() == Unprovisioned && s.Machine() != NoMachine && s.Phase() < DeletingHost && !released {
		out = add(out, HostProvisioned, n)
	}
	if s.Host() == Up {
		out = joinSteps(out, w, n, quorum)
	}
	if quorum {
		out = removalSteps(out, w, n)
		out = nodeSteps(out, w, n)
		if s.works() && w.leader() < 0 {
			out = add(out, LeaderElected, n)
		}
	}
	return out
}

// joinSteps brings a server into the cluster as RKE2 does it: the first one
// begins it, every other is added to etcd's list as a learner, starts, is
// promoted by the leader, and only then its API server starts and its kubelet
// registers the Node.
func joinSteps(out []Step, w *World, n int8, quorum bool) []Step {
	s := w.Servers[n]
	switch s.Member() {
	case NoMember:
		if s&(Joined|TornDown|Late) != 0 {
			return out
		}
		if all, _ := w.voters(); all == 0 && !w.Initialized {
			return add(out, StartsCluster, n)
		}
		if w.canJoin() && w.leader() >= 0 {
			return add(out, BecomesLearner, n)
		}
	case Unstarted:
		return add(out, MemberStarts, n)
	case Learner:
		if quorum && w.leader() >= 0 {
			return add(out, MemberPromoted, n)
		}
	case Voter:
		if s.Node() == NoNode && !s.has(NodeRef) && w.kubeletWorks(s) {
			return add(out, NodeRegisters, n)
		}
	}
	return out
}

// removalSteps is RKE2 with a server whose removal was asked for by the
// annotation, or by the deletion of its Node: its own server stops the static
// pods, and another server removes the member, in whatever order.
func removalSteps(out []Step, w *World, n int8) []Step {
	s := w.Servers[n]
	if stalled := s.Member() == Unstarted || s.Member() == Learner; stalled && s.Host() != Up && w.leader() >= 0 {
		out = add(out, StalledLearnerEvicted, n)
	}
	if s.terminating() {
		out = add(out, NodeGoes, n)
	}
	if !s.listed() || !s.askedByNode() {
		return out
	}
	if s.Host() == Up && s.works() {
		out = add(out, PodsTornDown, n)
	}
	if !w.Silent && w.leader() >= 0 && w.canRemove(int(n)) && w.someoneElseWorks(int(n)) {
		out = add(out, RKE2RemovesMember, n)
	}
	return out
}

// someoneElseWorks tells whether another server can run RKE2's controller.
func (w *World) someoneElseWorks(n int) bool {
	for i, s := range w.Servers {
		if i != n && s.works() {
			return true
		}
	}
	return false
}

// nodeSteps is what becomes of the Node's Ready condition.
func nodeSteps(out []Step, w *World, n int8) []Step {
	s := w.Servers[n]
	switch works := w.kubeletWorks(s); {
	case s.Node() == Ready && !works:
		return add(out, NodeTurnsNotReady, n)
	case (s.Node() == NotReady || s.Node() == LongNotReady) && works:
		return add(out, NodeTurnsReady, n)
	}
	return out
}

func (w *World) applyJoin(st Step, s *Server) {
	switch st.Kind {
	case HostProvisioned:
		s.setHost(Up)
		s.set(Provisioned)
	case StartsCluster:
		s.setMember(Voter)
		s.set(Joined | Leader)
	case BecomesLearner:
		s.setMember(Unstarted)
		s.set(Joined)
	case MemberStarts:
		s.setMember(Learner)
	case MemberPromoted:
		s.setMember(Voter)
	case StalledLearnerEvicted:
		s.setMember(NoMember)
	case NodeRegisters:
		s.setNode(Ready)
		s.set(NodeRef)
	case FirstAnswer:
		w.Initialized = true
	default:
	}
}
