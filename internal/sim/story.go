package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Story is one way through the model, step by step, in words.
type Story struct {
	// Breach says which invariant is broken at the end.
	Breach string
	// Begin says what the story begins with.
	Begin string
	// Steps are what happened.
	Steps []string
	// End describes every server at the end, and what the planner says there.
	End []string
}

// String is the story as it is printed and saved.
func (s *Story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nIt begins with %s.\n", s.Breach, s.Begin)
	for i, step := range s.Steps {
		fmt.Fprintf(&b, "%3d. %s\n", i+1, step)
	}
	b.WriteString("\nIn the end:\n")
	for _, line := range s.End {
		fmt.Fprintf(&b, "     %s\n", line)
	}
	return b.String()
}

// teller tells a story: it follows the ways of a run and gives the servers
// names.
type teller struct {
	*expander
	names [MaxServers]string
	made  int
}

// story tells the way to a finding. The run went from one World that stands
// for others to the next; what is told happens to whole Worlds.
func (e *exploration) story(f finding) *Story {
	var path []origin
	for id := f.state; ; {
		s, n := e.place(id)
		o := s.origin(n)
		if o.from == noOrigin {
			break
		}
		path = append(path, o)
		id = o.from
	}
	slices.Reverse(path)
	first := f.state
	if len(path) > 0 {
		first = path[0].from
	}
	if f.move >= 0 {
		path = append(path, origin{from: f.state, move: uint32(f.move)})
	}
	t := &teller{expander: e.expander()}
	w := e.world(first)
	out := &Story{Breach: f.breach, Begin: t.begin(&w)}
	for _, o := range path {
		from := e.world(o.from)
		t.expand(&from)
		next := t.out[o.move]
		out.Steps = append(out.Steps, t.follow(&w, t.standIn(next.world), next.breach)...)
	}
	out.End = t.describe(&w)
	return out
}

// begin names the servers of the first World.
func (t *teller) begin(w *World) string {
	n, outdated := 0, 0
	for i, s := range w.Servers {
		if s == 0 {
			continue
		}
		n++
		t.names[i] = t.next()
		if s.has(Outdated) {
			outdated++
		}
	}
	return fmt.Sprintf("%d servers, %d of them outdated; replicas %d, maxSurge %d", n, outdated, w.Replicas, w.Surge)
}

func (t *teller) next() string {
	t.made++
	return fmt.Sprintf("cp-%d", t.made)
}

// standIn is the World that stands for this one in the run.
func (t *teller) standIn(w World) World {
	t.reduce(&w)
	w.canonical()
	return w
}

// untold stands in a story for a move that is not found on the whole World.
// No run has one, or its reduction would be wrong.
const untold = "(what happens here can't be told)"

// chapter is a World with what happened on the way to it.
type chapter struct {
	world World
	steps []Step
}

// follow makes the next move of the run on the whole World, and says what it
// was. What the run had taken for done already is done now, as far as it must
// be. The move is known by where it leads, and by what it breaks.
func (t *teller) follow(w *World, to World, breach string) []string {
	known := map[World]bool{*w: true}
	for open := []chapter{{world: *w}}; len(open) > 0; open = open[1:] {
		at := open[0]
		t.expand(&at.world)
		for i := range t.out {
			s := &t.out[i]
			if s.breach == breach && t.standIn(s.world) == to {
				return t.tell(w, at.steps, s)
			}
		}
		for i := range t.out {
			if s := &t.out[i]; s.move.Stepped && s.move.Choice == nil && s.move.Step.silent() && !known[s.world] {
				known[s.world] = true
				open = append(open, chapter{world: s.world, steps: append(slices.Clone(at.steps), s.move.Step)})
			}
		}
	}
	return []string{untold}
}

// silent tells whether a run may take the step for done as soon as it can happen.
func (s Step) silent() bool {
	switch s.Kind {
	case CoreBegins, CoreDrains, CoreFinishesDrain, CoreComesBack, CorePassesHooks, HostDestroyed, LoadBalancersSettle, NodeTurnsNotReady:
		return true
	default:
		return false
	}
}

// tell says the steps and the move, and makes them.
func (t *teller) tell(w *World, steps []Step, s *successor) []string {
	var out []string
	for _, st := range steps {
		out = append(out, st.text(&t.names))
		w.Apply(st)
	}
	for i := range s.world.Servers {
		if s.world.Servers[i] != 0 && w.Servers[i] == 0 {
			t.names[i] = t.next()
		}
	}
	out = append(out, s.move.text(&t.names))
	*w = s.world
	return out
}

// text says a move in words.
func (m *Move) text(names *[MaxServers]string) string {
	var parts []string
	if m.Stepped {
		parts = append(parts, m.Step.text(names))
	}
	if m.Before != nil {
		parts = append(parts, "Drover: "+m.Before.text(names, m.BeforeOn, m.BeforeTo))
	}
	if m.Choice != nil {
		action := fmt.Sprintf("Drover: %s (%s)", m.Choice.text(names, m.On, m.To), m.Rule)
		if m.Unread != 0 {
			action += ", while it can't read " + m.Unread.text()
		}
		if m.Old != 0 {
			action += ", on what it had seen before of " + m.Old.text()
		}
		parts = append(parts, action)
	}
	return strings.Join(parts, "; then ")
}

func (s Sources) text() string {
	var out []string
	for _, source := range []struct {
		is   Sources
		name string
	}{{Management, "the Machines"}, {Workload, "the Nodes"}, {EtcdItself, "etcd"}} {
		if s&source.is != 0 {
			out = append(out, source.name)
		}
	}
	return strings.Join(out, " and ")
}

func (c *Choice) text(names *[MaxServers]string, on, to int) string {
	name := func(i int) string {
		if i < 0 {
			return "?"
		}
		return names[i]
	}
	switch c.Verb {
	case Create:
		return "creates a Machine"
	case Delete:
		return "deletes Machine " + name(on)
	case RestoreHooks:
		return "puts the hooks back on " + name(on)
	case Exclude:
		return "takes " + name(on) + " out of load balancers"
	case ReleasePreDrain:
		return "lets core drain " + name(on)
	case MoveLeader:
		return "moves leadership from " + name(on) + " to " + name(to)
	case AskRemoval:
		return "asks RKE2 to remove the member of " + name(on)
	case RemoveMember:
		return fmt.Sprintf("removes the member of %s, because %s", name(on), c.Ground)
	case ReleasePreTerminate:
		return "lets core destroy " + name(on)
	case DropHooks:
		return "drops the hooks of " + name(on)
	case Finish:
		return "lets go of the control plane"
	default:
		return "does nothing"
	}
}

// sentences say what each kind of step is; %s is the server.
var sentences = [numKinds]string{
	CoreBegins: "core begins the deletion of %s", CoreDrains: "core drains %s", CoreFinishesDrain: "core has drained %s",
	CoreComesBack: "core comes back to the pre-drain hook of %s", CorePassesHooks: "core passes the hooks of %s", HostDestroyed: "the host of %s is destroyed", MachineGone: "Machine and Node %s are gone",
	CoreFindsNode: "core finds Node %s and comes to the pre-drain hook", CoreTellsOfNode: "core tells of Node %s",
	HostProvisioned: "the host of %s comes up", HostReported: "the infrastructure reports the host of %s", StartsCluster: "%s starts the cluster", BecomesLearner: "%s becomes a learner",
	MemberStarts: "the member of %s starts", MemberPromoted: "the member of %s becomes a voter", StalledLearnerEvicted: "RKE2 gives up on the learner of %s",
	NodeRegisters: "Node %s registers", FirstAnswer: "the first API server has answered", PodsTornDown: "RKE2 stops the static pods of %s", RKE2RemovesMember: "RKE2 removes the member of %s", NodeGoes: "Node %s is gone",
	NodeTurnsNotReady: "Node %s turns not Ready", NodeTurnsReady: "Node %s turns Ready", LeaderElected: "%s is elected leader",
	SilenceLasts: "Node %s stays not Ready for long", LoadBalancersSettle: "load balancers let go of %s", AskingLasts: "time passes since RKE2 was asked about %s",
	JoinTakesLong: "%s takes too long to join", OrphanAges: "time passes and the member of %s has no Machine", HealthCheckMarks: "a health check marks %s", HealthCheckUnmarks: "the health check finds %s healthy again", ForeignHookRemoved: "the owner of the other hook lets go of %s",
	UpkeepBringsHooks: "the upkeep of %s brings its hooks back",
	HostDies:          "the host of %s dies", HostFreezes: "the host of %s freezes", HostThaws: "the host of %s thaws", KubeletDies: "the kubelet of %s dies",
	EtcdBreaks: "the etcd of %s breaks", NodeDeleted: "somebody deletes Node %s", RKE2FallsSilent: "RKE2 serves no removal any more",
	ForeignHookAdded: "somebody puts a hook on %s", HooksStripped: "somebody strips the hooks off %s", InfrastructureLost: "the infrastructure of %s disappears", HostStartsEarly: "the host of %s comes up, and nobody reports it yet",
	UserDeletes: "a user deletes Machine %s", UserScalesUp: "a user asks for one server more", UserScalesDown: "a user asks for one server fewer",
	UserUpgrades: "a user changes the version", UserDeletesAll: "a user deletes the control plane", LeaderLost: "%s leads no longer", ControllerRestarts: "Drover restarts",
}

// text says a step in words.
func (s Step) text(names *[MaxServers]string) string {
	sentence := sentences[s.Kind]
	if s.Server >= 0 {
		sentence = fmt.Sprintf(sentence, names[s.Server])
	}
	if s.Variant == 1 {
		sentence += ", on which RKE2's removal controller runs"
	}
	return sentence
}
