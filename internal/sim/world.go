package sim

import "slices"

// MaxServers is how many servers a World has room for, leftovers included.
const MaxServers = 12

// Fault is something that may go wrong, or that a user may do, a limited
// number of times.
type Fault uint8

// The faults.
const (
	// Death: a host stops for good.
	Death Fault = iota
	// Freeze: a host stops answering and may come back.
	Freeze
	// UserDelete: a user deletes a Machine.
	UserDelete
	// KubeletDeath: a kubelet stops for good, its host runs on.
	KubeletDeath
	// Corruption: an etcd member's data is damaged, it does not start again.
	Corruption
	// NodeDelete: somebody deletes a Node object while its server runs.
	NodeDelete
	// Silence: RKE2 stops serving removal annotations, for good.
	Silence
	// Foreign: somebody puts a pre-terminate hook of his own on a Machine.
	Foreign
	// HookLoss: somebody strips our hooks off a Machine.
	HookLoss
	// InfraLoss: an infrastructure machine disappears with its host.
	InfraLoss
	// EarlyStart: a host runs for a while before its infrastructure reports it.
	EarlyStart
	// ScaleUp and ScaleDown: a user changes spec.replicas by one.
	ScaleUp
	ScaleDown
	// Upgrade: a user changes the version.
	Upgrade
	// WholeDelete: a user deletes the control plane.
	WholeDelete
	numFaults
)

// World is one state of the model. It is a plain comparable value.
type World struct {
	Servers [MaxServers]Server
	// Replicas and Surge are the wish of the user.
	Replicas, Surge uint8
	// Initialized: the first server has answered once.
	Initialized bool
	// Silent: RKE2 serves no removal annotation any more.
	Silent bool
	// WholeDeleted: the control plane is being deleted.
	WholeDeleted bool
	// Direct: the controller reaches the client ports of the members, and does
	// not need their kubelets.
	Direct bool
	// External: the data are in a datastore outside, which never fails. Servers
	// are members of nothing; one that has joined is a Voter here, and nobody
	// sees it.
	External bool
	// Hidden: the servers run etcd, which nobody can ask. RKE2 cares for its
	// members, and takes one off the list when its Node is deleted.
	Hidden bool
	// Left is what may still go wrong.
	Left Budget
}

// voters counts the voters and those of them that work.
func (w *World) voters() (all, working int) {
	for _, s := range w.Servers {
		if s.Member() != Voter {
			continue
		}
		all++
		if s.runsEtcd() {
			working++
		}
	}
	return all, working
}

// Quorum tells whether the voters that work can agree on a write.
// With an external datastore it takes one server that works.
func (w *World) Quorum() bool {
	all, working := w.voters()
	if w.External {
		return working > 0
	}
	return all > 0 && working > all/2
}

// keepsQuorum tells whether the voters that work, and that go on working if
// nothing fails, can agree on a write.
func (w *World) keepsQuorum() bool {
	all, working := 0, 0
	for _, s := range w.Servers {
		if s.Member() != Voter {
			continue
		}
		all++
		if s.runsEtcd() && !s.condemned() {
			working++
		}
	}
	if w.External {
		return working > 0
	}
	return all > 0 && working > all/2
}

// condemned tells whether the server works on borrowed time: core destroys its
// host, or RKE2 stops it because its Node was deleted.
func (s Server) condemned() bool {
	released := s.Phase() == WaitingForPreTerminate && s&(PreTerminateHook|ForeignHook) == 0
	return s.Machine() == Deleting && (released || s.Phase() >= DeletingHost) || s.Node() == NoNode && s.has(NodeRef) || s.terminating()
}

// Lost tells whether the data can't be had back any more by anything that the
// model may do: not even with every frozen host awake there are enough voters.
func (w *World) Lost() bool {
	all, can := 0, 0
	for _, s := range w.Servers {
		if s.Member() != Voter {
			continue
		}
		all++
		if (s.Host() == Up || s.Host() == Frozen) && s&(TornDown|Corrupt) == 0 && !s.condemned() {
			can++
		}
	}
	switch {
	case w.WholeDeleted, !w.Initialized, w.External:
		return false // the data is meant to go, there is none yet, or it is elsewhere
	case all == 0:
		return true
	default:
		return can <= all/2
	}
}

// leader is the index of the server that leads, or -1.
func (w *World) leader() int {
	for i, s := range w.Servers {
		if s.has(Leader) {
			return i
		}
	}
	return -1
}

// machines counts the Machines, and those of them that nobody deleted.
func (w *World) machines() (all, staying int) {
	for _, s := range w.Servers {
		switch s.Machine() {
		case Staying:
			staying++
			all++
		case Deleting:
			all++
		default:
		}
	}
	return all, staying
}

// kubeletWorks tells whether the server's kubelet lives and can reach the API.
// It has only its own API server, and that only its own etcd.
func (w *World) kubeletWorks(s Server) bool {
	return s.works() && !s.has(KubeletDead) && w.Quorum()
}

// apiAnswers tells whether some server's API server can be asked. Core may find
// the Node of the first one before the controller has asked it.
func (w *World) apiAnswers() bool {
	if !w.Quorum() {
		return false
	}
	for _, s := range w.Servers {
		if s.Member() == Voter && s.Node() != NoNode && s.works() {
			return true
		}
	}
	return false
}

// unseen tells whether the controller sees no members: there are none, or they
// can't be asked.
func (w *World) unseen() bool { return w.External || w.Hidden }

// canJoin tells whether etcd accepts another member: it refuses while a voter
// is down, and a second learner.
func (w *World) canJoin() bool {
	for _, s := range w.Servers {
		switch s.Member() {
		case Unstarted, Learner:
			return false
		case Voter:
			if !s.runsEtcd() {
				return false
			}
		default:
		}
	}
	return w.Quorum()
}

// canRemove tells whether etcd itself accepts the removal of a member: with
// its strict check, the others must be enough among themselves.
func (w *World) canRemove(victim int) bool {
	if !w.Quorum() {
		return false
	}
	all, working := 0, 0
	for i, s := range w.Servers {
		if i == victim || s.Member() != Voter {
			continue
		}
		all++
		if s.runsEtcd() {
			working++
		}
	}
	return all > 0 && working > all/2
}

// settle brings the World into the one form that stands for what it means:
// what can't matter any more is forgotten, so that more states are equal.
func (w *World) settle() {
	quorum := w.Quorum()
	for i := range w.Servers {
		s := &w.Servers[i]
		if *s == 0 {
			continue
		}
		if s.has(Leader) && (!quorum || !s.works()) {
			s.clear(Leader)
		}
		s.forget()
		if w.External && s.Machine() == NoMachine {
			*s = 0 // it leaves no member behind
		}
	}
}

// forget drops the parts of a server that nothing depends on any more.
func (s *Server) forget() {
	if s.Host() == Dead || s.Host() == Gone {
		s.clear(TornDown | KubeletDead | Corrupt | Joined)
	}
	if s.Machine() == NoMachine {
		*s &= 7<<hostAt | Joined | TornDown | KubeletDead | Corrupt | NodeRef | 3<<nodeAt | 3<<memberAt | Leader | 3<<unmatchedAt
		if !s.listed() {
			*s = 0 // a Node that core has left behind concerns nobody
			return
		}
	}
	if s.Node() == NoNode {
		s.setExcluded(Included)
		s.setAsked(NotAsked)
		if s.claimed() {
			s.clear(Terminating)
		}
	}
	if !s.listed() {
		s.clear(RemovesMembers | Corrupt)
	}
	if s.has(NodeRef) || s.listed() {
		s.clear(Late)
	}
	if s.Machine() == Deleting {
		s.clear(Marked)
	}
	if s.Machine() == NoMachine && !s.listed() {
		s.setUnmatched(JustSeen)
	}
}

// canonical sorts the servers. Worlds that differ only in which server is
// which are one state.
func (w *World) canonical() { sortDown(&w.Servers) }

// sortDown sorts a few values, nearly sorted already, the largest first.
func sortDown[T ~uint32](a *[MaxServers]T) {
	for i := 1; i < len(a); i++ {
		for j := i; j > 0 && a[j] > a[j-1]; j-- {
			a[j], a[j-1] = a[j-1], a[j]
		}
	}
}

// free is the index of the first unused place, or -1.
func (w *World) free() int { return slices.Index(w.Servers[:], 0) }
