package sim

// hostSteps is what infrastructure, RKE2, etcd and the kubelet of a server do.
func hostSteps(out []Step, w *World, n int8, quorum bool) []Step {
	s := w.Servers[n]
	if s.Machine() != NoMachine && s.Phase() < DeletingHost && !s.has(Provisioned) {
		out = provisionSteps(out, s, n)
	}
	if w.External {
		return outsideSteps(out, w, n)
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

// provisionSteps brings a host up and tells of it, mostly in one. One that is
// still being made when core may destroy it is not told of any more: it can only
// have been started early.
func provisionSteps(out []Step, s Server, n int8) []Step {
	released := s.Machine() == Deleting && s.Phase() == WaitingForPreTerminate && s&(PreTerminateHook|ForeignHook) == 0
	switch {
	case released || s.Host() == Gone:
		return out
	case s.Host() == Unprovisioned:
		return add(out, HostProvisioned, n)
	default:
		return add(out, HostReported, n)
	}
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
		// A Node counts from the moment in which core can tell whose it is.
		if s.has(Provisioned) && w.canRegister(s) {
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

// canRegister tells whether the server's kubelet can register its Node.
func (w *World) canRegister(s Server) bool {
	if s.Node() != NoNode || s.has(NodeRef) {
		return false
	}
	if w.External {
		return s.Host() == Up && s&(Joined|TornDown|Late|KubeletDead) == 0
	}
	return s.Member() == Voter && w.kubeletWorks(s)
}

// register makes the Node, of which core does not know yet.
func (w *World) register(s *Server) {
	s.setNode(Ready)
	if w.External {
		s.setMember(Voter)
		s.set(Joined)
	}
}

func (w *World) applyJoin(st Step, s *Server) {
	switch st.Kind {
	case HostProvisioned:
		s.setHost(Up)
		s.set(Provisioned)
	case HostReported:
		s.clear(Aged)
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
		w.register(s)
		s.set(NodeRef)
	case FirstAnswer:
		w.Initialized = true
	default:
	}
}
