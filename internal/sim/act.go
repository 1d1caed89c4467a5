package sim

import "github.com/drover-project/drover/internal/model"

// Guard is one of the live checks of package act. A test can leave one out to
// see what goes wrong without it.
type Guard uint16

// The guards.
const (
	// SameMachines: exactly the Machines are there that the decision counted.
	SameMachines Guard = 1 << iota
	// Drained: core waits for our hook on the Machine, and for nobody else's.
	Drained
	// OneLeaves: no other Machine is past its pre-drain hook.
	OneLeaves
	// NotLeader: the member does not lead.
	NotLeader
	// KeepsQuorum: the others keep quorum, also if the member stops first
	// where it may.
	KeepsQuorum
	// SilentHost: the member that is given up answers nobody.
	SilentHost
	// OneRemoval: RKE2 is not removing another member.
	OneRemoval
	// OneLetGo: no other server was let go that may still join.
	OneLetGo
	// MemberGone: etcd's list does not hold the member of a host that is
	// released.
	MemberGone
	// StillMarked: the health check still wants the Machine replaced.
	StillMarked
)

// actor carries out choices on a World, with the guards of package act.
type actor struct {
	// without are guards that are left out.
	without Guard
}

// outcome is what became of a choice.
type outcome struct {
	// done is false when a guard refused it, or nothing had to be done.
	done bool
	// breach names the invariant that it broke.
	breach string
}

// targets are the servers that a choice may mean: those that looked the way
// the planner saw it.
func targets(c Sight, v *View, w *World, use func(i int)) {
	for i := range v.Servers {
		if v.Servers[i] != c || w.Servers[i] == 0 {
			continue
		}
		if i > 0 && v.Servers[i-1] == c && w.Servers[i-1] == w.Servers[i] {
			continue
		}
		use(i)
	}
}

// act carries a choice out on the World, of which the planner had the View.
func (a actor) act(w *World, v *View, c Choice, on, to int) outcome {
	switch c.Verb {
	case Create:
		return a.create(w, v, c)
	case Delete:
		return a.deleteMachine(w, v, c, on)
	case RestoreHooks:
		return restoreHooks(w, c, on)
	case Exclude:
		return exclude(w, on)
	case ReleasePreDrain:
		return a.releasePreDrain(w, v, on)
	case MoveLeader:
		return moveLeader(w, on, to)
	case AskRemoval:
		return a.askRemoval(w, on)
	case RemoveMember:
		return a.removeMember(w, c, on)
	case ReleasePreTerminate:
		return a.releasePreTerminate(w, v, on)
	case DropHooks:
		return dropHooks(w, on)
	default:
		return outcome{}
	}
}

// sameMachines is the check that nothing was made or deleted since the View.
func (a actor) sameMachines(w *World, v *View) bool {
	if a.without&SameMachines != 0 {
		return true
	}
	for i := range w.Servers {
		if w.Servers[i].Machine() != v.Servers[i].server().Machine() {
			return false
		}
	}
	return w.Replicas == v.Replicas && w.Surge == v.Surge
}

func (a actor) create(w *World, v *View, c Choice) outcome {
	if w.WholeDeleted || !a.sameMachines(w, v) {
		return outcome{}
	}
	all, _ := w.machines()
	if c.First && all > 0 {
		return outcome{}
	}
	i := w.free()
	if i < 0 {
		return outcome{done: true, breach: "I9: there is no end to new Machines"}
	}
	out := outcome{done: true, breach: w.someoneJoins()}
	s := PreDrainHook | PreTerminateHook
	s.setMachine(Staying)
	w.Servers[i] = s
	if most := int(w.Replicas+w.Surge) + 1; all+1 > most {
		out.breach = "I9: more Machines than replicas, surge and one rescue"
	}
	if _, staying := w.machines(); out.breach == "" && staying > int(w.Replicas+w.Surge) {
		out.breach = "I9: more Machines stay than replicas and surge"
	}
	return out
}

func (a actor) deleteMachine(w *World, v *View, c Choice, on int) outcome {
	s := &w.Servers[on]
	if c.Remediate && a.without&StillMarked == 0 && !s.marked() {
		return outcome{}
	}
	if !w.WholeDeleted && !a.sameMachines(w, v) || s.Machine() != Staying {
		return outcome{}
	}
	if !w.WholeDeleted && !s.has(PreDrainHook|PreTerminateHook) {
		return outcome{}
	}
	out := outcome{done: true, breach: w.healthyGoesBeforeBroken(on)}
	s.setMachine(Deleting)
	return out
}

func restoreHooks(w *World, c Choice, on int) outcome {
	s := &w.Servers[on]
	if s.Machine() == NoMachine || s.Phase() >= DeletingHost {
		return outcome{}
	}
	before := *s
	s.set(PreTerminateHook)
	if !c.PreTerminateOnly {
		s.set(PreDrainHook)
	}
	return outcome{done: *s != before}
}

func exclude(w *World, on int) outcome {
	s := &w.Servers[on]
	if !w.Quorum() || s.Machine() != Deleting || s.Node() == NoNode || s.Excluded() != Included {
		return outcome{}
	}
	s.setExcluded(JustExcluded)
	return outcome{done: true}
}

func (a actor) releasePreDrain(w *World, v *View, on int) outcome {
	s := &w.Servers[on]
	if !a.sameMachines(w, v) {
		return outcome{}
	}
	if a.without&OneLeaves == 0 {
		for i, other := range w.Servers {
			if i != on && other.pastPreDrain() {
				return outcome{}
			}
		}
	}
	if s.Machine() != Deleting || !s.has(PreTerminateHook) || !s.has(PreDrainHook) {
		return outcome{}
	}
	out := outcome{done: true, breach: w.drainBreach(on)}
	s.clear(PreDrainHook)
	return out
}

// pastPreDrain tells whether core drains the Machine or is further.
func (s Server) pastPreDrain() bool {
	if s.Machine() != Deleting {
		return false
	}
	return s.Phase() >= Draining || !s.has(PreDrainHook)
}

func moveLeader(w *World, from, to int) outcome {
	if !w.Servers[from].has(Leader) || !w.Servers[to].works() || !w.sight(w.Servers[to]).healthyVoter() {
		return outcome{}
	}
	w.Servers[from].clear(Leader)
	w.Servers[to].set(Leader)
	return outcome{done: true}
}

// drained is the check of everything that comes after the drain.
func (a actor) drained(w *World, s Server) bool {
	if a.without&Drained != 0 {
		return s.Machine() != NoMachine
	}
	if s.has(PreDrainHook|NodeRef) && w.drains(s) {
		return false
	}
	return s.Machine() == Deleting && s.Phase() == WaitingForPreTerminate && s.has(PreTerminateHook) && !s.has(ForeignHook)
}

// otherRemoval tells whether RKE2 was asked to remove another member and has
// not done so.
func (a actor) otherRemoval(w *World, on int) bool {
	if a.without&OneRemoval != 0 {
		return false
	}
	for i, s := range w.Servers {
		if i != on && s.Machine() != NoMachine && s.listed() && s.Asked() != NotAsked {
			return true
		}
	}
	return false
}

func (a actor) askRemoval(w *World, on int) outcome {
	s := &w.Servers[on]
	live := look(w)
	if !a.drained(w, *s) || live.EtcdUnknown || !s.listed() || s.Node() == NoNode || s.Asked() != NotAsked || a.otherRemoval(w, on) {
		return outcome{}
	}
	if a.without&NotLeader == 0 && s.has(Leader) {
		return outcome{}
	}
	if a.without&KeepsQuorum == 0 && (!live.removable(on) || !live.losable(on)) {
		return outcome{}
	}
	out := outcome{done: true, breach: w.removalBreach(on, true)}
	s.setAsked(JustAsked)
	return out
}

func (a actor) removeMember(w *World, c Choice, on int) outcome {
	s := &w.Servers[on]
	live := look(w)
	if c.Ground == model.Drained && !a.drained(w, *s) || live.EtcdUnknown || !s.listed() || !a.groundHolds(c, live.Servers[on]) || a.otherRemoval(w, on) {
		return outcome{}
	}
	if a.without&KeepsQuorum == 0 && !live.removable(on) || !w.canRemove(on) {
		return outcome{}
	}
	out := outcome{done: true, breach: w.removalBreach(on, false)}
	s.setMember(NoMember)
	return out
}

func (a actor) groundHolds(c Choice, s Sight) bool {
	server := s.server()
	answers, claimed := s.answers() == Answers, server.claimed()
	switch c.Ground {
	case model.Drained:
		return a.without&NotLeader != 0 || !server.has(Leader) || !s.healthyVoter()
	case model.HostDead:
		return a.without&SilentHost != 0 || !answers && claimed && hostIsDead(s)
	case model.NoMachine:
		return a.without&SilentHost != 0 || !answers && !server.has(Leader) && !claimed && server.Node() != Ready
	default:
		return false
	}
}

// hostIsDead is the proof that package act wants to see.
func hostIsDead(s Sight) bool {
	server := s.server()
	if s&hostIsGone != 0 {
		return true
	}
	if server.Machine() != Deleting || !server.has(NodeRef) {
		return false
	}
	return server.Node() == NoNode || server.Node() == LongNotReady
}

func dropHooks(w *World, on int) outcome {
	s := &w.Servers[on]
	if !w.WholeDeleted || s.Machine() == NoMachine || *s&(PreDrainHook|PreTerminateHook) == 0 {
		return outcome{}
	}
	s.clear(PreDrainHook | PreTerminateHook)
	return outcome{done: true}
}
