package sim

// Kind says who does what in a Step.
type Kind uint8

// The kinds of steps. Those up to lastProgress happen by themselves if nothing
// else does; the rest are faults and users.
const (
	// Core, for a Machine that is being deleted.
	CoreBegins Kind = iota
	CoreDrains
	CoreFinishesDrain
	CoreComesBack
	CorePassesHooks
	HostDestroyed
	MachineGone
	// Core finds the Node of a Machine that is being deleted and comes to its
	// first hook, and tells of the Node a moment later: conditions are written
	// before the rest of a status.
	CoreFindsNode
	CoreTellsOfNode
	// Infrastructure and RKE2 on a joining server.
	HostProvisioned
	HostReported
	StartsCluster
	BecomesLearner
	MemberStarts
	MemberPromoted
	StalledLearnerEvicted
	NodeRegisters
	// The API server of the first server has answered, and that is recorded. It
	// is not while all Machines are being deleted.
	FirstAnswer
	// A server whose removal was asked for.
	PodsTornDown
	RKE2RemovesMember
	// A Node that was deleted goes when RKE2 lets go of it.
	NodeGoes
	// Kubelets and etcd.
	NodeTurnsNotReady
	NodeTurnsReady
	LeaderElected
	// Time.
	SilenceLasts
	LoadBalancersSettle
	AskingLasts
	OrphanAges
	JoinTakesLong
	// A MachineHealthCheck marks a server that is broken for long, and takes the
	// mark off one that works again.
	HealthCheckMarks
	HealthCheckUnmarks
	// People who do what they are there for.
	ForeignHookRemoved
	// The upkeep of Machines brings our hooks along, beside the planner.
	UpkeepBringsHooks
	lastProgress = UpkeepBringsHooks

	// Faults and users, each limited by the Budget.
	HostDies Kind = iota
	HostFreezes
	HostThaws
	KubeletDies
	EtcdBreaks
	NodeDeleted
	RKE2FallsSilent
	ForeignHookAdded
	HooksStripped
	InfrastructureLost
	HostStartsEarly
	UserDeletes
	UserScalesUp
	UserScalesDown
	UserUpgrades
	UserDeletesAll
	// LeaderLost: etcd elects, because it was slow. Only traces are followed
	// through that: the planner waits while nobody leads.
	LeaderLost
	// ControllerRestarts loses what the controller remembers.
	ControllerRestarts
	numKinds
)

// Step is one thing that happens to a World without the planner.
type Step struct {
	Kind Kind
	// Server is the index of the server that it happens to.
	Server int8
	// Variant tells steps of one kind apart: 1 when a server that is drained
	// turns out to run RKE2's removal controller.
	Variant int8
}

// Progress tells whether the step happens by itself sooner or later. Only
// such steps count for the promise that the goal stays reachable.
func (s Step) Progress() bool { return s.Kind <= lastProgress }

// Rules of a run that are no part of the state.
type rules struct {
	// deathInWindow lets servers fail between the moment in which RKE2 is
	// asked to remove a member and the removal, and while one joins that core
	// is about to destroy.
	deathInWindow bool
	// hooksGetLost: somebody may strip our hooks off a Machine.
	hooksGetLost bool
	// noHealthCheck: nobody marks the Machine of a broken server.
	noHealthCheck bool
	// restarts lets the controller restart and forget.
	restarts bool
	// elections: etcd may lose its leader although nothing failed.
	elections bool
	// nodesGoFirst: a Node is gone some time before its Machine. Nothing is
	// decided on the Node of a host that is gone.
	nodesGoFirst bool
	// upkeep is beside the planner. It does nothing to Machines that the planner
	// would not do, so that explorations hold the planner alone to it.
	upkeep bool
	// merged is for Worlds in canonical form, in which equal servers stand
	// side by side: what happens to the second is what happens to the first.
	merged bool
	// whole keeps Worlds apart of which one could stand for the other.
	whole bool
}

// steps appends every step that may happen next.
func (r rules) steps(out []Step, w *World) []Step {
	quorum := w.Quorum()
	for i, s := range w.Servers {
		if s == 0 || r.merged && i > 0 && s == w.Servers[i-1] {
			continue
		}
		n := int8(i)
		out = coreSteps(out, w, n)
		if r.nodesGoFirst && w.deletesNode(s) {
			out = add(out, NodeGoes, n)
		}
		out = hostSteps(out, w, n, quorum)
		out = clockSteps(out, s, n)
		out = r.peopleSteps(out, s, n)
		out = r.faultSteps(out, w, n)
	}
	if _, staying := w.machines(); !w.Initialized && staying > 0 && w.apiAnswers() {
		out = add(out, FirstAnswer, -1)
	}
	if leader := w.leader(); r.elections && leader >= 0 {
		out = add(out, LeaderLost, int8(leader))
	}
	if r.restarts && w.remembers() {
		out = add(out, ControllerRestarts, -1)
	}
	return userSteps(out, w)
}

// add is append for a kind.
func add(out []Step, k Kind, server int8) []Step { return append(out, Step{Kind: k, Server: server}) }

// Apply lets the step happen. The step must be one that may happen.
func (w *World) Apply(st Step) {
	if st.Kind > lastProgress {
		w.applyFault(st)
	} else {
		w.applyProgress(st, &w.Servers[max(st.Server, 0)])
	}
	w.settle()
}

func (w *World) applyProgress(st Step, s *Server) {
	switch st.Kind {
	case CoreBegins, CoreDrains, CoreFinishesDrain, CoreComesBack, CorePassesHooks, HostDestroyed, MachineGone, CoreFindsNode, CoreTellsOfNode:
		w.applyCore(st, s)
	case HostProvisioned, HostReported, StartsCluster, BecomesLearner, MemberStarts, MemberPromoted, StalledLearnerEvicted, NodeRegisters, FirstAnswer:
		w.applyJoin(st, s)
	case PodsTornDown:
		s.set(TornDown)
	case RKE2RemovesMember:
		s.setMember(NoMember)
	case NodeGoes:
		s.setNode(NoNode)
	case NodeTurnsNotReady:
		s.setNode(NotReady)
	case NodeTurnsReady:
		s.setNode(Ready)
	case LeaderElected:
		s.set(Leader)
	case SilenceLasts:
		s.setNode(LongNotReady)
	case LoadBalancersSettle:
		s.setExcluded(Settled)
	case AskingLasts:
		s.setAsked(s.Asked() + 1)
	case OrphanAges:
		s.age()
	case JoinTakesLong:
		s.set(Late)
	case HealthCheckMarks:
		s.set(Marked)
	case HealthCheckUnmarks:
		s.clear(Marked)
	case ForeignHookRemoved:
		s.clear(ForeignHook)
	case UpkeepBringsHooks:
		s.set(bothHooks)
	default:
	}
}
