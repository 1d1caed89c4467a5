package timeline

import "time"

// Kind says what an Event reports.
type Kind string

// The kinds of events. The comments name the fields that are filled besides At.
const (
	// MachineCreated: a Machine object appeared (Machine, Role, Version).
	MachineCreated Kind = "machine-created"
	// MachineBooted: its infrastructure is provisioned (Machine).
	MachineBooted Kind = "machine-booted"
	// MachineJoined: its Node is known (Machine, Node).
	MachineJoined Kind = "machine-joined"
	// MachineDeleting: its deletion timestamp was set (Machine).
	MachineDeleting Kind = "machine-deleting"
	// MachineStep: the reason of its Deleting condition changed (Machine, Object = reason, Detail = message).
	MachineStep Kind = "machine-step"
	// HookReleased: a hook annotation went away (Machine, Object = annotation key).
	HookReleased Kind = "hook-released"
	// MachineGone: the Machine object is gone (Machine).
	MachineGone Kind = "machine-gone"
	// ControlPlaneState: a condition of the control plane changed (Object = type, Detail = "status reason: message").
	ControlPlaneState Kind = "control-plane"
	// NodeReady and NodeNotReady: the Node's Ready condition changed (Node, Detail = reason).
	NodeReady    Kind = "node-ready"
	NodeNotReady Kind = "node-not-ready"
	// NodeExcluded: the Node was taken out of external load balancers by label (Node).
	NodeExcluded Kind = "node-excluded"
	// NodeRemoveAsked: the Node got the annotation that asks RKE2 to remove its member (Node).
	NodeRemoveAsked Kind = "node-remove-asked"
	// NodeGone: the Node object is gone (Node).
	NodeGone Kind = "node-gone"
	// PodRunning, PodTerminating and PodGone: a watched pod (Node, Object = namespace/name).
	PodRunning     Kind = "pod-running"
	PodTerminating Kind = "pod-terminating"
	PodGone        Kind = "pod-gone"
	// LeaseRenewed: the kubelet renewed its Lease; At is the kubelet's own renewal time (Node).
	LeaseRenewed Kind = "lease-renewed"
	// MemberAdded: an etcd member appeared (Node, Object = member name, Detail = "learner" or "voter").
	MemberAdded Kind = "member-added"
	// MemberVoter: a learner became a voter (Node, Object = member name).
	MemberVoter Kind = "member-voter"
	// MemberGone: a member left etcd's list (Node, Object = member name).
	MemberGone Kind = "member-gone"
	// MemberRemoved: a member's own log tells of the removal of another; At is that log's time stamp (Node, Object =
	// name of the removed member).
	MemberRemoved Kind = "member-removed"
	// LeaderChanged: another member leads (Node, Object = member name).
	LeaderChanged Kind = "leader"
	// RemoveRPC: etcd answered MemberRemove (Object = gRPC code, Detail = how many).
	RemoveRPC Kind = "remove-rpc"
	// ClientGap: a client went without an answer from Since to At (Object = client).
	ClientGap Kind = "client-gap"
	// Note: something the run itself did (Detail).
	Note Kind = "note"
)

// Event is one observation.
type Event struct {
	// At is when it was observed. For LeaseRenewed it is the time that the kubelet wrote.
	At time.Time `json:"at"`
	// Since bounds a change that was found by polling: it happened after Since and not later than At. Zero when At
	// itself is the moment.
	Since time.Time `json:"since,omitzero"`
	// Written is the API server's own stamp of the write that a watch told of: it was done in the second that begins
	// then, however late the watch came. Zero when there is none, as for a deletion.
	Written time.Time `json:"written,omitzero"`
	Kind    Kind      `json:"kind"`
	// Revision is the resourceVersion of the workload cluster's object that showed the change, 0 when unknown. All
	// objects of one cluster share one sequence, so two revisions give the true order even when a watch came late.
	Revision int64 `json:"revision,omitempty"`

	Machine string `json:"machine,omitempty"`
	Node    string `json:"node,omitempty"`
	Role    Role   `json:"role,omitempty"`
	Version string `json:"version,omitempty"`
	Object  string `json:"object,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// Role is what a machine is in its cluster.
type Role string

// The two roles.
const (
	Server Role = "server"
	Worker Role = "worker"
)
