package model

import "time"

// Phase is the reason of a Machine's Deleting condition, which CAPI core sets
// while it deletes the Machine. It is part of CAPI's contract with control
// planes and therefore may be read for decisions.
type Phase string

// Phases of a Machine's deletion, in the order in which core passes them
// (sigs.k8s.io/cluster-api/api/core/v1beta2, MachineDeleting…Reason).
const (
	PhaseNone                 Phase = ""
	PhaseNotDeleting          Phase = "NotDeleting" // as core leaves it until it looks at the deletion
	PhaseWaitingForPreDrain   Phase = "WaitingForPreDrainHook"
	PhaseDraining             Phase = "DrainingNode"
	PhaseWaitingForVolumes    Phase = "WaitingForVolumeDetach"
	PhaseWaitingForPreTerm    Phase = "WaitingForPreTerminateHook"
	PhaseDeletingInfra        Phase = "WaitingForInfrastructureDeletion"
	PhaseDeletingBootstrap    Phase = "WaitingForBootstrapDeletion"
	PhaseDeletingNode         Phase = "DeletingNode"
	PhaseDeletionCompleted    Phase = "DeletionCompleted"
	PhaseInternalError        Phase = "InternalError"
	PhaseDeletingWithoutState Phase = "Deleting"
)

// PastHooks tells whether core has left all hooks behind: from here on the
// machine's host is being destroyed.
func (p Phase) PastHooks() bool {
	switch p {
	case PhaseDeletingInfra, PhaseDeletingBootstrap, PhaseDeletingNode, PhaseDeletionCompleted:
		return true
	default:
		return false
	}
}

// Hook is a deletion hook of somebody else on a Machine.
type Hook struct {
	// Name is the annotation key without its prefix.
	Name string `json:"name"`
	// Owner is the annotation's value, by convention the hook's owner.
	Owner string `json:"owner,omitzero"`
}

// Machine is a control-plane Machine with what is known of its node.
type Machine struct {
	Name          string    `json:"name"`
	UID           string    `json:"uid"`
	Created       time.Time `json:"created,omitzero"`
	Version       string    `json:"version"`
	FailureDomain string    `json:"failureDomain,omitzero"`
	// Outdated holds one short reason for each way in which the Machine
	// differs from the spec. Empty means up to date.
	Outdated []string `json:"outdated,omitzero"`
	// OutdatedAt is when a Machine that is up to date will differ from the
	// spec with nothing but time passing. Zero when it will not.
	OutdatedAt time.Time `json:"outdatedAt,omitzero"`
	// DeletionWished is the annotation cluster.x-k8s.io/delete-machine: the
	// user would like this Machine to be the next one to go.
	DeletionWished bool `json:"deletionWished,omitzero"`

	// Unhealthy is set when a MachineHealthCheck wants the Machine replaced.
	Unhealthy *Mark `json:"unhealthy,omitzero"`
	// RemediationFor is the replacement that the Machine was made for, nil for
	// a Machine that replaces none.
	RemediationFor *Remediation `json:"remediationFor,omitzero"`

	// Deleting is true from the deletion timestamp on.
	Deleting bool `json:"deleting,omitzero"`
	// DeletingSince is that timestamp.
	DeletingSince time.Time `json:"deletingSince,omitzero"`
	// Phase is where core stands with the deletion.
	Phase Phase `json:"phase,omitzero"`
	// PhaseSince is when the phase began.
	PhaseSince time.Time `json:"phaseSince,omitzero"`
	// Detail is core's own text about the deletion. It is shown to people
	// and never decided on.
	Detail string `json:"detail,omitzero"`

	// PreDrainHook and PreTerminateHook tell whether our hooks are on it.
	PreDrainHook     bool `json:"preDrainHook,omitzero"`
	PreTerminateHook bool `json:"preTerminateHook,omitzero"`
	// ForeignPreTerminate are the pre-terminate hooks of others.
	ForeignPreTerminate []Hook `json:"foreignPreTerminate,omitzero"`
	// ForeignPreDrain are the pre-drain hooks of others.
	ForeignPreDrain []Hook `json:"foreignPreDrain,omitzero"`

	// InfrastructureReady is status.initialization.infrastructureProvisioned.
	InfrastructureReady bool `json:"infrastructureReady,omitzero"`
	// InfrastructureGone is true when the infrastructure machine does not
	// exist any more: the host is destroyed. Unknown when it can't be told.
	InfrastructureGone Fact[bool] `json:"infrastructureGone"`
	// Addresses are the addresses the infrastructure provider reported.
	Addresses []string `json:"addresses,omitzero"`

	// NodeName is the name of the Machine's Node, by core's reference or the
	// provider ID. Empty until it is known.
	NodeName string `json:"nodeName,omitzero"`
	// NodeAbsent is true when the workload cluster was looked at and has no
	// Node of the Machine. With an empty NodeName and false here, the Machine
	// may well have one.
	NodeAbsent bool `json:"nodeAbsent,omitzero"`
	// Node is the Node object of the workload cluster, found by NodeName.
	Node Fact[Node] `json:"node"`
	// Components tells for each static pod of the control plane
	// (kube-apiserver, kube-controller-manager, kube-scheduler, etcd)
	// whether it is healthy, and why not.
	Components map[string]Fact[bool] `json:"components,omitzero"`
}

// HostGone tells whether the infrastructure machine is known not to exist any
// more: the host is destroyed.
func (m Machine) HostGone() bool { return m.InfrastructureGone.Known && m.InfrastructureGone.Value }

// StandsSince is since when the Machine stands where it does: in its phase, or
// else from its deletion or its creation on.
func (m Machine) StandsSince() time.Time {
	for _, at := range []time.Time{m.PhaseSince, m.DeletingSince} {
		if !at.IsZero() {
			return at
		}
	}
	return m.Created
}

// UpToDate tells whether nothing of the Machine differs from the spec.
func (m Machine) UpToDate() bool { return len(m.Outdated) == 0 }

// Node is what the planner needs of a workload Node.
type Node struct {
	// Exists is false when the API server answered that there is none.
	Exists bool `json:"exists,omitzero"`
	// Ready is the Ready condition.
	Ready Tri `json:"ready"`
	// ReadySince is when the Ready condition last changed.
	ReadySince time.Time `json:"readySince,omitzero"`
	// Excluded tells whether the label that takes the Node out of external
	// load balancers is set, ExcludedAt since when.
	Excluded   bool      `json:"excluded,omitzero"`
	ExcludedAt time.Time `json:"excludedAt,omitzero"`
	// RemovalAsked tells whether RKE2 was asked to remove the Node's member, by
	// annotation or by the deletion of the Node, RemovalAskedAt since when.
	RemovalAsked   bool      `json:"removalAsked,omitzero"`
	RemovalAskedAt time.Time `json:"removalAskedAt,omitzero"`
	// MemberAnnotated is true when the Node has the annotations with which
	// RKE2 finds its member (node-name and node-address). Without them it
	// can't serve a removal annotation.
	MemberAnnotated bool `json:"memberAnnotated,omitzero"`
	// RemovesMembers is true when the Node's server is the one that serves
	// removal annotations (it holds RKE2's lease for it). It can't do so for
	// itself: it stops itself at the same moment.
	RemovesMembers bool `json:"removesMembers,omitzero"`
}

// DeadAfter is for how long a Node must not have been Ready before its host
// may count as dead. A kubelet renews its lease every 10 s and is declared
// lost after 40 to 50 s; this adds a margin to that.
const DeadAfter = 30 * time.Second

// JoinTime is how long a server may take from its creation until it is in
// etcd's list. One that is older and is not, will not be in the moments between
// its release and its end. RKE2 retries a join for as long as it runs, but a
// server whose first boot succeeds joins within minutes.
const JoinTime = 20 * time.Minute

// Alive tells whether the node is known to exist and to be Ready.
func (m Machine) Alive() bool {
	return m.Node.Known && m.Node.Value.Exists && m.Node.Value.Ready == Yes
}

// MachineByName returns the Machine of that name.
func (s Snapshot) MachineByName(name string) (Machine, bool) {
	for _, m := range s.Machines {
		if m.Name == name {
			return m, true
		}
	}
	return Machine{}, false
}

// MemberOf returns the etcd member of a Machine. The second result is false
// when no member is listed for it, or the list is unknown.
func (s Snapshot) MemberOf(machine string) (Member, bool) {
	for _, m := range s.Etcd.Members.Value {
		if m.Machine == machine {
			return m, true
		}
	}
	return Member{}, false
}
