package sim

import (
	"reflect"

	"github.com/drover-project/drover/internal/model"
)

// Verb is what a Choice does.
type Verb uint8

// The verbs, one for each action of the model.
const (
	Nothing Verb = iota
	Create
	Delete
	RestoreHooks
	Exclude
	ReleasePreDrain
	MoveLeader
	AskRemoval
	RemoveMember
	ReleasePreTerminate
	DropHooks
	Finish
)

// Choice is what the planner decides on a View. Servers that look alike are
// one: On and To are what the planner saw of them. Which of several that look
// alike it would be is decided by age and name, which the model does not keep;
// each of them counts as possible.
type Choice struct {
	Verb   Verb
	On, To Sight
	// First is for Create: the server that begins the cluster.
	First bool
	// PreTerminateOnly is for RestoreHooks.
	PreTerminateOnly bool
	// Remediate is for Delete: a health check wants the Machine replaced.
	Remediate bool
	// Ground is for RemoveMember.
	Ground model.Ground
}

// Judgement is everything the planner may decide on a View.
type Judgement struct {
	Choices []Choice
	// Settled: there is nothing left to do or to wait for.
	Settled bool
	// Fault is a breach of I6, I7 or I10, empty if there is none.
	Fault string
	// rules are the names of the rules that decided, for stories.
	rules []string
}

// Decider is the planner, or one that has been tampered with.
type Decider func(model.Snapshot) model.Decision

// judge asks the planner with the servers in one order of age and IDs, and in
// the opposite one. It breaks ties by taking the first in such an order; a View
// is sorted, and servers that look alike stand side by side. If the first and
// the last of those that tie are one to it, then all of them are. Otherwise it
// is asked once for every server that may be the first, in each of the orders.
func judge(decide Decider, e *eyes, v *View) Judgement {
	var out Judgement
	names := namings.forward
	if v.Servers[0].number()&63 == 0 {
		out.Fault = repeatable(decide, e, v, &names)
	}
	first := out.ask(decide, e, v, &names)
	if names = namings.backward; out.ask(decide, e, v, &names) == first {
		return out
	}
	for i, s := range v.Servers {
		if s == 0 || i > 0 && s == v.Servers[i-1] {
			continue // nobody, or the twin of the one before
		}
		for j, other := range v.Servers {
			if other == 0 || j > 0 && other == v.Servers[j-1] {
				continue
			}
			names = naming(i, j)
			out.ask(decide, e, v, &names)
		}
	}
	return out
}

// number mixes the bits of a Sight, for taking samples.
func (s Sight) number() uint32 { return uint32(s) * 2654435761 >> 16 }

// repeatable holds a sample of the decisions to I7.
func repeatable(decide Decider, e *eyes, v *View, n *Names) string {
	s := e.snapshot(v, n)
	if !reflect.DeepEqual(decide(s), decide(s)) {
		return "I7: the same snapshot led to another decision"
	}
	return ""
}

// namings are the orders in which nobody is preferred.
var namings = struct{ forward, backward Names }{ordered(false), ordered(true)}

func ordered(backward bool) Names {
	var n Names
	for i := range MaxServers {
		rank := i
		if backward {
			rank = MaxServers - 1 - i
		}
		n.Rank[i], n.ID[i], n.Machine[i] = rank, rank, letters[rank]
	}
	return n
}

// naming lets one server be the first by age and one the first by ID.
func naming(oldest, lowest int) Names {
	var n Names
	for i := range MaxServers {
		n.Rank[i], n.ID[i] = i+1, i+1
	}
	n.Rank[oldest], n.ID[lowest] = 0, 0
	for i := range MaxServers {
		n.Machine[i] = letters[n.Rank[i]]
	}
	return n
}

// letters are names in the order of their ranks.
var letters = [MaxServers + 1]string{"cp-a", "cp-b", "cp-c", "cp-d", "cp-e", "cp-f", "cp-g", "cp-h", "cp-i", "cp-j", "cp-k", "cp-l", "cp-m"}

func (j *Judgement) ask(decide Decider, e *eyes, v *View, n *Names) Choice {
	snapshot := e.snapshot(v, n)
	d := decide(snapshot)
	if fault := check(&d, v); fault != "" && j.Fault == "" {
		j.Fault = fault
	}
	if d.Settled() {
		j.Settled = true
	}
	c := v.choice(read(d.Action), n)
	if c.Verb == Nothing {
		return c
	}
	for i := range j.Choices {
		if j.Choices[i] == c {
			return c
		}
	}
	j.Choices = append(j.Choices, c)
	j.rules = append(j.rules, d.Rule)
	return c
}

// check holds one decision to the invariants that concern decisions alone.
func check(d *model.Decision, v *View) string {
	for _, w := range d.Waits {
		if w.Rule == "" || w.Message == "" || len(w.Blockers) == 0 {
			return "I10: a wait without rule, message or blocker: " + w.Message
		}
		for _, b := range w.Blockers {
			if b.Kind == "" || b.Name == "" || b.Unblock == "" {
				return "I10: a blocker without name or way out: " + w.Message
			}
		}
	}
	if v.EtcdUnknown && !v.External && v.Initialized && !v.WholeDeleted && needsMembers(d.Action) {
		return "I6: etcd's members are unknown, and yet: " + d.Action.Describe()
	}
	return ""
}

// needsMembers tells which actions rest on etcd's list.
func needsMembers(a model.Action) bool {
	switch a.(type) {
	case model.CreateMachine, model.DeleteMachine, model.MoveLeader, model.AskForMemberRemoval, model.RemoveMember, model.ReleasePreTerminateHook:
		return true
	default:
		return false
	}
}
