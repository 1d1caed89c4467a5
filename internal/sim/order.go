package sim

import (
	"fmt"
	"slices"

	"github.com/drover-project/drover/internal/model"
)

// order is an action of the planner, taken apart: what to do, and to whom, by
// the name of a Machine or the IDs of members.
type order struct {
	Choice
	machine    string
	member, to uint64
}

// read takes an action apart.
func read(a model.Action) order {
	switch a := a.(type) {
	case nil:
		return order{}
	case model.CreateMachine:
		return order{Choice: Choice{Verb: Create, First: a.Purpose == model.First}}
	case model.DeleteMachine:
		return order{Choice: Choice{Verb: Delete, Remediate: a.Remediate}, machine: a.Machine}
	case model.RestoreHooks:
		return order{Choice: Choice{Verb: RestoreHooks, PreTerminateOnly: a.PreTerminateOnly}, machine: a.Machine}
	case model.ExcludeFromLoadBalancers:
		return order{Choice: Choice{Verb: Exclude}, machine: a.Machine}
	case model.ReleasePreDrainHook:
		return order{Choice: Choice{Verb: ReleasePreDrain}, machine: a.Machine}
	case model.MoveLeader:
		return order{Choice: Choice{Verb: MoveLeader}, member: a.From, to: a.To}
	case model.AskForMemberRemoval:
		return order{Choice: Choice{Verb: AskRemoval}, machine: a.Machine}
	case model.RemoveMember:
		return order{Choice: Choice{Verb: RemoveMember, Ground: a.Ground}, member: a.Member}
	case model.ReleasePreTerminateHook:
		return order{Choice: Choice{Verb: ReleasePreTerminate}, machine: a.Machine}
	case model.DropHooks:
		return order{Choice: Choice{Verb: DropHooks}, machine: a.Machine}
	case model.FinishDeletion:
		return order{Choice: Choice{Verb: Finish}}
	default:
		panic(fmt.Sprintf("the model does not know the action %T", a))
	}
}

// places are the places of the servers that the order is about, -1 for none.
func (o order) places(machine func(name string) int, member func(id uint64) int) (on, to int) {
	on, to = -1, -1
	switch {
	case o.machine != "":
		on = must(machine(o.machine), o.machine)
	case o.member != 0:
		on = must(member(o.member), o.member)
	}
	if o.to != 0 {
		to = must(member(o.to), o.to)
	}
	return on, to
}

// must holds the planner to what is in the snapshot.
func must(place int, what any) int {
	if place < 0 {
		panic(fmt.Sprintf("the planner names %v, which is not in the snapshot", what))
	}
	return place
}

// choice is the order on what was seen.
func (v *View) choice(o order, n *Names) Choice {
	on, to := o.places(n.machine, n.member)
	if on >= 0 {
		o.On = v.Servers[on]
	}
	if to >= 0 {
		o.To = v.Servers[to]
	}
	return o.Choice
}

func (n *Names) machine(name string) int { return slices.Index(n.Machine[:], name) }

// member finds a member: its ID is its rank, counted from 1.
func (n *Names) member(id uint64) int { return slices.Index(n.ID[:], int(id)-1) }
