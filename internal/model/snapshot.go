package model

import (
	"strings"
	"time"
)

// Snapshot is everything the planner may know at one moment. It is never
// atomic: its parts come from the management API, the workload API and etcd,
// one after the other. That is why an action re-checks its ground before it
// acts.
type Snapshot struct {
	// Now is the time of the observation. The planner knows no other clock.
	Now time.Time `json:"now"`

	ControlPlane ControlPlane `json:"controlPlane"`
	Cluster      Cluster      `json:"cluster"`

	// Machines are the control-plane Machines owned by the control plane,
	// sorted by name. Deleting Machines are among them until they are gone.
	Machines []Machine `json:"machines"`

	// Etcd is what etcd itself says about its members.
	Etcd Etcd `json:"etcd"`
}

// ControlPlane is the wish of the user, read from the RKE2ControlPlane.
type ControlPlane struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Replicas is the wished number of servers, never below 1.
	Replicas int `json:"replicas"`
	// MaxSurge is 0 or 1: how many servers more than Replicas may exist
	// during a rolling change.
	MaxSurge int    `json:"maxSurge"`
	Version  string `json:"version"`
	// Problems are faults of the spec that make a change impossible, each a
	// sentence that names the field and the way out.
	Problems []string `json:"problems,omitzero"`
	// RolloutHeld says why the user holds rollouts, empty while nobody does.
	RolloutHeld string `json:"rolloutHeld,omitzero"`
	// NetworkOptional is true while no network plugin is to be expected: RKE2
	// brings none, and no server's Node was ever Ready. Such a Node can't be.
	NetworkOptional bool `json:"networkOptional,omitzero"`
	// Deleting is true from the moment the control plane has a deletion
	// timestamp.
	Deleting bool `json:"deleting,omitzero"`
	// Initialized is true once the first server has answered.
	Initialized bool `json:"initialized,omitzero"`
	// ExternalDatastore is true when the servers keep their data outside of
	// etcd members of their own. There is then no membership to care for.
	ExternalDatastore bool `json:"externalDatastore,omitzero"`
	// HiddenEtcd is true, along with ExternalDatastore, for clusters of the
	// legacy kind as long as nobody has the authority of their etcd: it is
	// inside, and can't be asked. RKE2 cares for its membership, and its data
	// are gone with the last server.
	HiddenEtcd bool `json:"hiddenEtcd,omitzero"`
	// ExcludeFromLoadBalancers asks for the Node label that takes a leaving
	// server out of external load balancers before it is drained.
	ExcludeFromLoadBalancers bool `json:"excludeFromLoadBalancers,omitzero"`
	// LoadBalancerSettle is how long to wait after the label was set.
	LoadBalancerSettle time.Duration `json:"loadBalancerSettleNanoseconds,omitzero"`
	// Remediation is how unhealthy servers may be replaced.
	Remediation RemediationPolicy `json:"remediation,omitzero"`
}

// Cluster is what the planner needs of the CAPI Cluster.
type Cluster struct {
	Name     string `json:"name"`
	Deleting bool   `json:"deleting,omitzero"`
	// InfrastructureReady is status.initialization.infrastructureProvisioned.
	InfrastructureReady bool `json:"infrastructureReady,omitzero"`
	// Endpoint is host:port of the control-plane endpoint, empty until set.
	Endpoint string `json:"endpoint,omitzero"`
	// FailureDomains are those usable by control planes, sorted.
	FailureDomains []string `json:"failureDomains,omitzero"`
	// PendingVersion is the version that the Cluster's topology is about to
	// ask this control plane for, empty when that is the one it asks for now.
	PendingVersion string `json:"pendingVersion,omitzero"`
	// Workers is the number of worker Machines and MachinePools left. It
	// holds up a deletion of the control plane.
	Workers int `json:"workers,omitzero"`
	// Template tells whether the infrastructure template exists. Unknown
	// while it could not be read; the Reason names it.
	Template Fact[bool] `json:"template"`
	// TemplateName is kind/name of that template, for messages.
	TemplateName string `json:"templateName,omitzero"`
	// Certificates is true when the CAs, the token and the kubeconfig are
	// there. When it is false, CertificateProblem names the Secret and key.
	Certificates       Fact[bool] `json:"certificates"`
	CertificateProblem string     `json:"certificateProblem,omitzero"`
	// Registration tells whether the address that joining servers register
	// at (port 9345) accepts connections. False means that it was refused
	// outright; unknown means that it can't be told from here.
	Registration Fact[bool] `json:"registration"`
	// RegistrationAddress is host:port of it.
	RegistrationAddress string `json:"registrationAddress,omitzero"`
}

// Etcd is the membership as etcd reports it, never as Machines suggest it.
type Etcd struct {
	// Members is etcd's own list, sorted by ID. Unknown when no voter could
	// be reached; the Reason says what was tried.
	Members Fact[[]Member] `json:"members"`
	// Path is the way that the list was read on, empty while it is unknown.
	Path Path `json:"path,omitzero"`
}

// Path is a way to an etcd member.
type Path string

// The ways to etcd. A kubelet that is dead closes the first, a network that
// does not reach the nodes the others.
const (
	// PortForward goes through the API server and the node's kubelet to the
	// member's static pod.
	PortForward Path = "port-forward"
	// ClientPort goes straight to the member's client port (2379).
	ClientPort Path = "client port"
	// Supervisor is the member list that RKE2's supervisor (9345) gives. It
	// says nothing about the members' health, and removes nobody.
	Supervisor Path = "supervisor"
)

// Member is one entry of etcd's member list, together with the answer the
// member itself gave.
type Member struct {
	ID uint64 `json:"id,string"`
	// Name is empty until the member has started for the first time.
	Name     string   `json:"name"`
	PeerURLs []string `json:"peerURLs,omitzero"`
	Learner  bool     `json:"learner,omitzero"`
	// Version is etcd's own version as the member reports it, empty when it
	// could not be asked.
	Version string `json:"version,omitzero"`
	// Path is the way the member was asked on, empty when there was none.
	Path Path `json:"path,omitzero"`
	// Leader is true when the members that answered agree on this one.
	Leader bool `json:"leader,omitzero"`
	// Answers is whether the member itself answered a status call. Unknown
	// when there was no way to ask it.
	Answers Fact[bool] `json:"answers"`
	// Alarms are the alarms raised for this member: NOSPACE, CORRUPT.
	Alarms []string `json:"alarms,omitzero"`
	// Lag is how many raft entries the member is behind the furthest one.
	Lag uint64 `json:"lag,omitzero"`
	// Doomed is true when the member's host may be destroyed at any moment:
	// its Machine is being deleted, and our pre-terminate hook is off.
	Doomed bool `json:"doomed,omitzero"`
	// Machine is the name of the control-plane Machine this member belongs
	// to, empty when there is none. It is found by the Node's annotation, by
	// exact name or by peer address, never by a part of a name.
	Machine string `json:"machine,omitzero"`
	// NodeReady is whether a Node that runs this member is Ready, whether or
	// not a Machine belongs to it: No when there is no such Node.
	NodeReady Tri `json:"nodeReady"`
	// UnmatchedSince is since when no Machine was found for the member. Zero
	// when Machine is set.
	UnmatchedSince time.Time `json:"unmatchedSince,omitzero"`
}

// MaxLag is the number of raft entries a member may be behind and still count
// as healthy. etcd itself promotes a learner at 90 % of the leader's index;
// a voter that serves requests is behind by far less than this.
const MaxLag = 5000

// Voter tells whether the member counts for quorum. A member that was added
// as a voter counts from the moment it is listed, started or not.
func (m Member) Voter() bool { return !m.Learner }

// Started tells whether the member has ever joined: etcd lists a name only
// then.
func (m Member) Started() bool { return m.Name != "" }

// Healthy tells whether the member is known to work, and to go on working:
// started, answering, without alarm, not far behind, and on a host that stays.
// Unknown is not healthy.
func (m Member) Healthy() bool {
	return m.Started() && m.Answers.Known && m.Answers.Value && len(m.Alarms) == 0 && m.Lag <= MaxLag && !m.Doomed
}

// Trouble says what keeps a member from being healthy, as a predicate whose
// subject is the member; empty for a healthy one. Sure is false when the
// member could not be asked: then it may well work.
func (m Member) Trouble() (what string, sure bool) {
	switch {
	case !m.Started():
		return "has not started yet", true
	case !m.Answers.Known:
		return "could not be asked: " + m.Answers.Reason, false
	case !m.Answers.Value:
		return "does not answer: " + m.Answers.Reason, true
	case len(m.Alarms) > 0:
		return "has the alarm " + strings.Join(m.Alarms, ", "), true
	case m.Lag > MaxLag:
		return "is far behind", true
	case m.Doomed:
		return "is about to be destroyed with its host", true
	default:
		return "", true
	}
}

// HealthyVoter is a member that counts for quorum and works.
func (m Member) HealthyVoter() bool { return m.Voter() && m.Healthy() }

// Label is how the member is named in messages.
func (m Member) Label() string {
	switch {
	case m.Name != "":
		return m.Name
	case len(m.PeerURLs) > 0:
		return "unnamed member at " + m.PeerURLs[0]
	default:
		return "unnamed member"
	}
}
