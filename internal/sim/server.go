package sim

// Server is one server of the control plane with everything that belongs to
// it: its Machine, its host, its Node and its etcd member. It is packed into
// 32 bits, because the explorer keeps millions of them; the zero Server is
// none at all. A server lives on without a Machine as long as a Node or a
// member is left of it.
type Server uint32

// Flags of a Server.
const (
	// PreDrainHook and PreTerminateHook: our hooks are on the Machine.
	PreDrainHook     Server = 1 << 5
	PreTerminateHook Server = 1 << 6
	// ForeignHook: a pre-terminate hook of somebody else is on the Machine.
	ForeignHook Server = 1 << 7
	// Outdated: the Machine differs from the spec.
	Outdated Server = 1 << 8
	// Provisioned: the infrastructure reports the host as provisioned.
	Provisioned Server = 1 << 9
	// NodeRef: core has found the Machine's Node once.
	NodeRef Server = 1 << 10
	// Joined: the server has been in etcd's list. RKE2 never joins again.
	Joined Server = 1 << 14
	// TornDown: RKE2 has stopped its static pods, etcd and API server.
	TornDown Server = 1 << 15
	// KubeletDead: the host runs, its kubelet does not and never will.
	KubeletDead Server = 1 << 16
	// Corrupt: the host runs, its etcd does not start any more.
	Corrupt Server = 1 << 17
	// RemovesMembers: RKE2's controller that serves removal annotations runs
	// here. It can't remove the member of its own server.
	RemovesMembers Server = 1 << 24
	// Leader: its member leads etcd.
	Leader Server = 1 << 27
	// Marked: a health check wants the Machine replaced. It stands in the place
	// of the age of a member without a Machine, and only a Machine that nobody
	// deleted has it.
	Marked Server = 1 << unmatchedAt
	// Terminating: somebody has deleted the Node, and RKE2 keeps it until it has
	// removed the member. It stands beside Marked, where a member without a
	// Machine has its age.
	Terminating Server = 2 << unmatchedAt
	// Aged stands in the place of Terminating for a member whose Machine is not
	// known yet, and which has no Node: it has been seen for longer than the grace
	// for orphans.
	Aged Server = 2 << unmatchedAt
	// Waited: core has come to the pre-terminate hook once and back. It then
	// does not drain any more.
	Waited Server = 1 << 30
	// Late: it has taken longer to join than any server that will.
	Late Server = 1 << 31
)

// Places of the fields that are wider than a flag.
const (
	machineAt   = 0
	phaseAt     = 2
	hostAt      = 11
	nodeAt      = 18
	excludedAt  = 20
	askedAt     = 22
	memberAt    = 25
	unmatchedAt = 28
)

// MachineState is what is with the Machine object.
type MachineState uint8

// The states of a Machine.
const (
	NoMachine MachineState = iota
	Staying
	Deleting
)

// Phase is how far core is with the deletion of a Machine.
type Phase uint8

// The phases, in core's order. Waiting for volumes is part of Draining.
const (
	NotBegun Phase = iota
	WaitingForPreDrain
	Draining
	WaitingForPreTerminate
	DeletingHost
	DeletingNode
)

// HostState is what is with the host.
type HostState uint8

// The states of a host.
const (
	// Unprovisioned: it is being made.
	Unprovisioned HostState = iota
	Up
	// Frozen: it does nothing and answers nothing, and may come back.
	Frozen
	// Dead: it will never run again, but its infrastructure object exists.
	Dead
	// Gone: the infrastructure object does not exist any more.
	Gone
)

// NodeState is what the workload cluster says of the Node.
type NodeState uint8

// The states of a Node.
const (
	NoNode NodeState = iota
	Ready
	// NotReady: for less time than it takes to count as dead.
	NotReady
	LongNotReady
)

// Exclusion is how long the Node has been out of external load balancers.
type Exclusion uint8

// The stages of an exclusion.
const (
	Included Exclusion = iota
	JustExcluded
	Settled
)

// Asking is for how long RKE2 has been asked to remove the member.
type Asking uint8

// The stages of asking: as long as any answer takes, longer than a stopped
// member gets, longer than anybody gets.
const (
	NotAsked Asking = iota
	JustAsked
	AskedForAWhile
	AskedForLong
)

// MemberState is the entry in etcd's list.
type MemberState uint8

// The states of a member. RKE2 adds members as learners that have not started.
const (
	NoMember MemberState = iota
	Unstarted
	Learner
	Voter
)

// Age is for how long the controller has seen a member without a Machine. It
// is the one thing that it remembers and a crash makes it forget.
type Age uint8

// The ages: just seen, longer than the grace for orphans, longer than a join
// may take.
const (
	JustSeen Age = iota
	PastGrace
	PastJoinWindow
)

func (s Server) has(flags Server) bool { return s&flags == flags }

// Machine is what is with the Machine object.
func (s Server) Machine() MachineState { return MachineState(s >> machineAt & 3) }

// Phase is how far core is with the deletion.
func (s Server) Phase() Phase { return Phase(s >> phaseAt & 7) }

// Host is the state of the host.
func (s Server) Host() HostState { return HostState(s >> hostAt & 7) }

// Node is the state of the Node object.
func (s Server) Node() NodeState { return NodeState(s >> nodeAt & 3) }

// Excluded is the stage of the exclusion from load balancers.
func (s Server) Excluded() Exclusion { return Exclusion(s >> excludedAt & 3) }

// Asked is the stage of the removal annotation.
func (s Server) Asked() Asking { return Asking(s >> askedAt & 3) }

// Member is the entry in etcd's list.
func (s Server) Member() MemberState { return MemberState(s >> memberAt & 3) }

// Unmatched is for how long the controller has known of no Machine for the
// member.
func (s Server) Unmatched() Age {
	switch {
	case s.unclaimed() && s.has(Aged):
		return PastGrace
	case s.Machine() != NoMachine:
		return JustSeen
	default:
		return Age(s >> unmatchedAt & 3)
	}
}

// unclaimed tells whether the member can't be told to be that of its Machine:
// the host runs and has joined before the infrastructure reported it, with the
// addresses by which the member would be known.
func (s Server) unclaimed() bool {
	return s.listed() && s.Machine() != NoMachine && !s.has(Provisioned)
}

// claimed tells whether a member of the server would be known to be that of its
// Machine.
func (s Server) claimed() bool { return s.Machine() != NoMachine && !s.unclaimed() }

// terminating tells whether the Node was deleted and is still there.
func (s Server) terminating() bool {
	return s.claimed() && s.has(Terminating) && s.Node() != NoNode
}

// marked tells whether a health check wants the Machine replaced.
func (s Server) marked() bool { return s.Machine() == Staying && s.has(Marked) }

func (s *Server) set(flags Server)   { *s |= flags }
func (s *Server) clear(flags Server) { *s &^= flags }

func (s *Server) setMachine(v MachineState) { *s = *s&^(3<<machineAt) | Server(v)<<machineAt }
func (s *Server) setPhase(v Phase)          { *s = *s&^(7<<phaseAt) | Server(v)<<phaseAt }
func (s *Server) setHost(v HostState)       { *s = *s&^(7<<hostAt) | Server(v)<<hostAt }
func (s *Server) setNode(v NodeState)       { *s = *s&^(3<<nodeAt) | Server(v)<<nodeAt }
func (s *Server) setExcluded(v Exclusion)   { *s = *s&^(3<<excludedAt) | Server(v)<<excludedAt }
func (s *Server) setAsked(v Asking)         { *s = *s&^(3<<askedAt) | Server(v)<<askedAt }
func (s *Server) setMember(v MemberState)   { *s = *s&^(3<<memberAt) | Server(v)<<memberAt }
func (s *Server) setUnmatched(v Age)        { *s = *s&^(3<<unmatchedAt) | Server(v)<<unmatchedAt }

// listed tells whether etcd lists a member of the server.
func (s Server) listed() bool { return s.Member() != NoMember }

// runsEtcd tells whether its etcd process runs.
func (s Server) runsEtcd() bool { return s.Host() == Up && s&(TornDown|Corrupt) == 0 }

// doomed tells whether core may destroy the host at any moment.
func (s Server) doomed() bool { return s.Machine() == Deleting && !s.has(PreTerminateHook) }

// broken tells whether something of the server will not work again by itself.
func (s Server) broken() bool {
	return s.Host() > Up || s&(TornDown|Corrupt|KubeletDead|Late) != 0
}

// works tells whether its member counts for quorum and does its part.
func (s Server) works() bool { return s.Member() == Voter && s.runsEtcd() }

// askedByNode tells whether RKE2 takes the server for one that leaves: by the
// annotation, or because its Node object was deleted.
func (s Server) askedByNode() bool {
	return s.Asked() != NotAsked || s.Node() == NoNode && s.has(NodeRef)
}
