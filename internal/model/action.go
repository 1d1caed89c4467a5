package model

import (
	"fmt"
	"strconv"
)

// Action is one step that changes the world. Actions are plain comparable
// values. Carrying one out is idempotent.
type Action interface {
	// Describe says the action in a short sentence without a full stop.
	Describe() string
	action()
}

// Purpose says why a Machine is created.
type Purpose string

// The purposes.
const (
	// First is the server that starts the cluster.
	First Purpose = "first server"
	// ScaleUp fills up to the wished number of servers.
	ScaleUp Purpose = "scale up"
	// Surge is the extra server of a rolling change.
	Surge Purpose = "replacement of an outdated server"
	// Rescue replaces a server that is already being deleted, so that it can
	// leave without costing the quorum.
	Rescue Purpose = "replacement of a server that is being deleted"
)

// CreateMachine makes a new server.
type CreateMachine struct {
	Purpose Purpose `json:"purpose"`
	// FailureDomain is empty when the cluster has none.
	FailureDomain string `json:"failureDomain,omitzero"`
}

// DeleteMachine asks CAPI core to delete a Machine.
type DeleteMachine struct {
	Machine string `json:"machine"`
	// Why is one of the reasons of the rule, for the event.
	Why string `json:"why"`
	// Remediate is true when a MachineHealthCheck wants the Machine replaced.
	// Its replacement is then on record as such, as the Retry-th in a row.
	Remediate bool `json:"remediate,omitzero"`
	Retry     int  `json:"retry,omitzero"`
}

// RestoreHooks puts our hooks back on a Machine that lost them.
type RestoreHooks struct {
	Machine string `json:"machine"`
	// PreTerminateOnly is true for Machines that are already being deleted
	// and past the drain: a pre-drain hook would come too late.
	PreTerminateOnly bool `json:"preTerminateOnly,omitzero"`
}

// ExcludeFromLoadBalancers labels the Machine's Node so that external load
// balancers and VIPs let go of it, and records the time.
type ExcludeFromLoadBalancers struct {
	Machine string `json:"machine"`
}

// ReleasePreDrainHook lets core drain the Machine's Node.
type ReleasePreDrainHook struct {
	Machine string `json:"machine"`
}

// MoveLeader hands etcd's leadership from one voter to another.
type MoveLeader struct {
	From uint64 `json:"from,string"`
	To   uint64 `json:"to,string"`
	// FromName and ToName are for messages only.
	FromName string `json:"fromName"`
	ToName   string `json:"toName"`
}

// AskForMemberRemoval sets RKE2's removal annotation on the Machine's Node.
// RKE2 removes the member and stops the local API server.
type AskForMemberRemoval struct {
	Machine string `json:"machine"`
	Member  uint64 `json:"member,string"`
}

// Ground is what makes the removal of a member right. The action checks
// exactly this again before it calls etcd.
type Ground string

// The grounds.
const (
	// Drained means that core holds the Machine for us, with its Node drained
	// and its volumes detached.
	Drained Ground = "its node is drained"
	// HostDead means that the Machine's host is proven dead.
	HostDead Ground = "its host is dead"
	// NoMachine means that the member belongs to no Machine and shows no sign
	// of life.
	NoMachine Ground = "it belongs to no Machine"
)

// RemoveMember removes an etcd member by a call to another voter.
type RemoveMember struct {
	Member uint64 `json:"member,string"`
	Ground Ground `json:"ground"`
	// Name is for messages only.
	Name string `json:"name"`
	// Machine is the Machine the member belongs to, empty for an orphan.
	Machine string `json:"machine,omitzero"`
}

// ReleasePreTerminateHook lets core destroy the Machine. It drops both our
// hooks (a Machine without a Node never passed the pre-drain one) and excludes
// further draining and volume waits, all in one patch.
type ReleasePreTerminateHook struct {
	Machine string `json:"machine"`
}

// DropHooks drops both our hooks. It is only for the deletion of a whole
// control plane.
type DropHooks struct {
	Machine string `json:"machine"`
}

// FinishDeletion lets go of the control-plane object after its last Machine.
type FinishDeletion struct{}

func (CreateMachine) action()            {}
func (DeleteMachine) action()            {}
func (RestoreHooks) action()             {}
func (ExcludeFromLoadBalancers) action() {}
func (ReleasePreDrainHook) action()      {}
func (MoveLeader) action()               {}
func (AskForMemberRemoval) action()      {}
func (RemoveMember) action()             {}
func (ReleasePreTerminateHook) action()  {}
func (DropHooks) action()                {}
func (FinishDeletion) action()           {}

// Describe implements Action.
func (a CreateMachine) Describe() string {
	if a.FailureDomain == "" {
		return fmt.Sprintf("create a Machine (%s)", a.Purpose)
	}
	return fmt.Sprintf("create a Machine in failure domain %s (%s)", a.FailureDomain, a.Purpose)
}

// Describe implements Action.
func (a DeleteMachine) Describe() string {
	return fmt.Sprintf("delete Machine %s (%s)", a.Machine, a.Why)
}

// Describe implements Action.
func (a RestoreHooks) Describe() string {
	return fmt.Sprintf("put the deletion hooks back on Machine %s", a.Machine)
}

// Describe implements Action.
func (a ExcludeFromLoadBalancers) Describe() string {
	return fmt.Sprintf("take the Node of Machine %s out of external load balancers", a.Machine)
}

// Describe implements Action.
func (a ReleasePreDrainHook) Describe() string {
	return fmt.Sprintf("release Machine %s to be drained", a.Machine)
}

// Describe implements Action.
func (a MoveLeader) Describe() string {
	return fmt.Sprintf("move etcd leadership from %s to %s", a.FromName, a.ToName)
}

// Describe implements Action.
func (a AskForMemberRemoval) Describe() string {
	return fmt.Sprintf("ask RKE2 to remove etcd member %s of Machine %s", hex(a.Member), a.Machine)
}

// Describe implements Action.
func (a RemoveMember) Describe() string {
	if a.Machine == "" {
		return fmt.Sprintf("remove orphan etcd member %s (%s)", a.Name, hex(a.Member))
	}
	return fmt.Sprintf("remove etcd member %s (%s) of Machine %s through another voter", a.Name, hex(a.Member), a.Machine)
}

// Describe implements Action.
func (a ReleasePreTerminateHook) Describe() string {
	return fmt.Sprintf("release Machine %s to be destroyed", a.Machine)
}

// Describe implements Action.
func (a DropHooks) Describe() string {
	return fmt.Sprintf("drop the deletion hooks of Machine %s", a.Machine)
}

// Describe implements Action.
func (FinishDeletion) Describe() string {
	return "let go of the control plane"
}

// hex writes a member ID the way etcdctl does.
func hex(id uint64) string { return strconv.FormatUint(id, 16) }
