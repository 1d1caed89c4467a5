package sim

// Sight is what the controller can see of one server. It has the bits of a
// Server that somebody reports, in their places; in the places of what nobody
// reports stands what follows from it.
type Sight uint32

// What is seen comes from three sources, one after the other.
const (
	// fromManagement: the Machine and its infrastructure object.
	fromManagement Sight = 1<<12 - 1 | Sight(Late)
	// fromWorkload: the Node, and who serves removal annotations.
	fromWorkload Sight = 1<<25 - 1 - (1<<18 - 1)
	// fromEtcd: the member list, and what each member answers.
	fromEtcd Sight = 1<<30 - 1 - (1<<25 - 1) | 3<<answersAt
)

// ofMembers is what a server shows only if it has a member.
const ofMembers = 3<<memberAt | Sight(Leader) | 3<<answersAt

// hostIsGone stands in the place of the host, answersAt in that of flags that
// can't be seen.
const (
	hostIsGone Sight = 1 << 11
	answersAt        = 14
)

// Answer is what a member answers when it is asked.
type Answer uint8

// The answers: it can't be asked, it does, it does not.
const (
	CannotAsk Answer = iota
	Answers
	Refuses
)

// seen are the bits of a Server that are reported as they are.
const seen = Sight(1<<11-1) | Sight(Late) | fromWorkload | Sight(1<<30-1-(1<<25-1))

// sight is what can be seen of a server. Etcd is asked at the server's Node,
// through its kubelet or without.
func (w *World) sight(s Server) Sight {
	out := Sight(s) & seen
	if s.claimed() {
		out &^= Sight(Terminating) // it is seen as a question to RKE2
	}
	if s.Host() == Gone {
		out |= hostIsGone
	}
	if s.untold() {
		out &^= fromWorkload
	}
	switch {
	case w.unseen():
		out &^= ofMembers
	case !s.listed() || s.Node() == NoNode || s.untold() || s.has(KubeletDead) && !w.Direct || s.Host() != Up:
	case s.runsEtcd():
		out |= Sight(Answers) << answersAt
	default:
		out |= Sight(Refuses) << answersAt
	}
	return out
}

func (s Sight) server() Server { return Server(s) & Server(seen) }

func (s Sight) answers() Answer { return Answer(s >> answersAt & 3) }

// healthyVoter tells whether the member is known to work, and to go on working.
func (s Sight) healthyVoter() bool {
	return s.server().Member() == Voter && s.answers() == Answers && !s.server().doomed()
}

// View is what the controller can see of a World.
type View struct {
	Servers         [MaxServers]Sight
	Replicas, Surge uint8
	Initialized     bool
	WholeDeleted    bool
	// External: the controller sees no members. Hidden: there are some.
	External, Hidden bool
	// EtcdUnknown and WorkloadUnknown: that source could not be read.
	EtcdUnknown, WorkloadUnknown bool
}

// look is a View of the World as it is now. Without a leader every member
// says that it can't serve, and the list comes only from a voter that can be
// asked.
func look(w *World) View {
	v := View{Replicas: w.Replicas, Surge: w.Surge, Initialized: w.Initialized, WholeDeleted: w.WholeDeleted, External: w.unseen(), Hidden: w.Hidden}
	leaderless := w.leader() < 0
	v.EtcdUnknown = true
	for i, s := range w.Servers {
		if s == 0 {
			continue
		}
		sight := w.sight(s)
		if sight.answers() == Answers && s.Member() == Voter {
			v.EtcdUnknown = false
		}
		if sight.answers() == Answers && leaderless {
			sight = sight&^(3<<answersAt) | Sight(Refuses)<<answersAt
		}
		v.Servers[i] = sight
	}
	if !w.Quorum() {
		v.EtcdUnknown, v.WorkloadUnknown = true, true
	}
	return v
}

// Sources are sources of a View.
type Sources uint8

// The sources. All three are fresh or not independently of each other.
const (
	Management Sources = 1 << iota
	Workload
	EtcdItself
	everySource = Management | Workload | EtcdItself
)

func (s Sources) bits() Sight {
	var out Sight
	if s&Management != 0 {
		out |= fromManagement
	}
	if s&Workload != 0 {
		out |= fromWorkload
	}
	if s&EtcdItself != 0 {
		out |= fromEtcd
	}
	return out
}

// differ tells in which sources two Views differ.
func differ(a, b *View) Sources {
	var bits Sight
	for i := range a.Servers {
		bits |= a.Servers[i] ^ b.Servers[i]
	}
	var out Sources
	if bits&fromManagement != 0 || a.Replicas != b.Replicas || a.Surge != b.Surge || a.Initialized != b.Initialized || a.WholeDeleted != b.WholeDeleted {
		out |= Management
	}
	if bits&fromWorkload != 0 || a.WorkloadUnknown != b.WorkloadUnknown {
		out |= Workload
	}
	if bits&fromEtcd != 0 || a.EtcdUnknown != b.EtcdUnknown {
		out |= EtcdItself
	}
	return out
}

// mix is the new View with some sources as they were before.
func mix(before, now *View, old Sources) View {
	out := *now
	bits := old.bits()
	for i := range out.Servers {
		out.Servers[i] = now.Servers[i]&^bits | before.Servers[i]&bits
	}
	if old&Management != 0 {
		out.Replicas, out.Surge, out.Initialized, out.WholeDeleted = before.Replicas, before.Surge, before.Initialized, before.WholeDeleted
	}
	if old&Workload != 0 {
		out.WorkloadUnknown = before.WorkloadUnknown
	}
	if old&EtcdItself != 0 {
		out.EtcdUnknown = before.EtcdUnknown
	}
	return out
}
