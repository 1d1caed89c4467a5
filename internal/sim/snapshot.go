package sim

import (
	"time"

	"github.com/drover-project/drover/internal/model"
)

// epoch is when everything happens: the model has no clock, only what the
// planner would measure with one.
var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Times that lie safely on one side of what the planner measures.
const (
	momentAgo = time.Second
	aWhileAgo = 20 * time.Second
	minuteAgo = 90 * time.Second
	longAgo   = time.Hour
	settle    = 5 * time.Second
)

// Names gives the servers of a View their names, in the order of their age.
// The planner breaks ties by age, name and member ID, and never else.
type Names struct {
	// Machine names the servers by their index.
	Machine [MaxServers]string
	// Rank is the place in the order of age, by index; ID that of the members.
	Rank, ID [MaxServers]int
}

// eyes make Snapshots. They use the same memory for each.
type eyes struct {
	machines []model.Machine
	members  []model.Member
}

// Snapshot is what package observe would make of the View.
func (v *View) Snapshot(n *Names) model.Snapshot { return (&eyes{}).snapshot(v, n) }

// snapshot is Snapshot; it is good until the next one.
func (e *eyes) snapshot(v *View, n *Names) model.Snapshot {
	s := model.Snapshot{Now: epoch, ControlPlane: v.controlPlane(), Cluster: cluster(v.WholeDeleted)}
	e.machines, e.members = e.machines[:0], e.members[:0]
	for _, i := range inOrder(&n.Rank) {
		if v.Servers[i].server().Machine() != NoMachine {
			e.machines = append(e.machines, v.machine(i, n))
		}
	}
	s.Machines = e.machines
	if v.EtcdUnknown {
		s.Etcd.Members = model.Unknown[[]model.Member]("no etcd voter gave the member list", epoch)
		return s
	}
	for _, i := range inOrder(&n.ID) {
		if v.Servers[i].server().listed() {
			e.members = append(e.members, v.member(i, n))
		}
	}
	s.Etcd.Members = model.Known(e.members, epoch)
	return s
}

// inOrder are the indices in the order of their ranks.
func inOrder(rank *[MaxServers]int) [MaxServers]int {
	var out [MaxServers]int
	for i := range out {
		out[i] = i
		for j := i; j > 0 && rank[out[j]] < rank[out[j-1]]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

func (v *View) controlPlane() model.ControlPlane {
	return model.ControlPlane{
		Namespace: "default", Name: "cp", Replicas: int(v.Replicas), MaxSurge: int(v.Surge), Version: "v1.36.3+rke2r1",
		Problems: v.problems(), Deleting: v.WholeDeleted, Initialized: v.Initialized, ExternalDatastore: v.External, HiddenEtcd: v.Hidden,
		ExcludeFromLoadBalancers: true, LoadBalancerSettle: settle,
		Remediation: model.RemediationPolicy{SingleServer: true},
	}
}

// problems is the one that scaling down can bring about: package observe finds
// it in the spec.
func (v *View) problems() []string {
	if v.Surge == 0 && v.Replicas < 3 {
		return []string{"maxSurge is 0 with fewer than 3 replicas"}
	}
	return nil
}

func cluster(deleting bool) model.Cluster {
	return model.Cluster{
		Name: "cluster", InfrastructureReady: true, Endpoint: "192.0.2.1:6443", TemplateName: "MachineTemplate/cp", Deleting: deleting,
		Template: model.Known(true, epoch), Certificates: model.Known(true, epoch), Registration: model.Known(true, epoch),
		RegistrationAddress: "192.0.2.1:9345",
	}
}

var phases = [...]model.Phase{
	NotBegun: model.PhaseNone, WaitingForPreDrain: model.PhaseWaitingForPreDrain, Draining: model.PhaseDraining,
	WaitingForPreTerminate: model.PhaseWaitingForPreTerm, DeletingHost: model.PhaseDeletingInfra, DeletingNode: model.PhaseDeletingNode,
}

// Values that are the same in every Snapshot. Nothing in the planner compares
// the addresses of servers.
var (
	outdatedVersion = []string{"version"}
	failedCheck     = &model.Mark{Since: epoch, Why: "Node not Ready"}
	foreignHook     = []model.Hook{{Name: "backup", Owner: "somebody"}}
	address         = []string{"192.0.2.10"}
	peer            = []string{"https://192.0.2.10:2380"}
)

func (v *View) machine(i int, n *Names) model.Machine {
	sight := v.Servers[i]
	s := sight.server()
	m := model.Machine{
		Name: n.Machine[i], UID: n.Machine[i], Created: epoch.Add(-longAgo + time.Duration(n.Rank[i])*time.Minute), Version: "v1.36.3+rke2r1",
		PreDrainHook: s.has(PreDrainHook), PreTerminateHook: s.has(PreTerminateHook),
		InfrastructureReady: s.has(Provisioned), InfrastructureGone: model.Known(sight&hostIsGone != 0, epoch),
	}
	if !s.has(Late) && !s.has(NodeRef) {
		m.Created = epoch.Add(-momentAgo)
	}
	if s.has(Outdated) {
		m.Outdated = outdatedVersion
	}
	if s.marked() {
		m.Unhealthy = failedCheck
	}
	if s.has(ForeignHook) {
		m.ForeignPreTerminate = foreignHook
	}
	if s.has(Provisioned) {
		m.Addresses = address
	}
	if s.Machine() == Deleting {
		m.Deleting, m.Phase = true, phases[s.Phase()]
		m.DeletingSince = epoch.Add(-longAgo + time.Duration(n.Rank[i])*time.Minute)
		m.PhaseSince = m.DeletingSince
	}
	v.node(s, &m)
	return m
}

func (v *View) node(s Server, m *model.Machine) {
	if s.has(NodeRef) || s.Node() != NoNode && !v.WorkloadUnknown {
		m.NodeName = "node-" + m.Name
	}
	m.NodeAbsent = !v.WorkloadUnknown && m.NodeName == ""
	switch {
	case m.NodeName == "":
		m.Node = model.Unknown[model.Node]("no Node is known for the Machine yet", epoch)
		return
	case v.WorkloadUnknown:
		m.Node = model.Unknown[model.Node]("the workload cluster could not be read", epoch)
		return
	}
	node := model.Node{Exists: s.Node() != NoNode, MemberAnnotated: s.Node() != NoNode && s.listed(), RemovesMembers: s.has(RemovesMembers)}
	node.Ready, node.ReadySince = readiness(s.Node())
	switch s.Excluded() {
	case JustExcluded:
		node.Excluded, node.ExcludedAt = true, epoch
	case Settled:
		node.Excluded, node.ExcludedAt = true, epoch.Add(-longAgo)
	default:
	}
	switch s.Asked() {
	case JustAsked:
		node.RemovalAsked, node.RemovalAskedAt = true, epoch
	case AskedForAWhile:
		node.RemovalAsked, node.RemovalAskedAt = true, epoch.Add(-aWhileAgo)
	case AskedForLong:
		node.RemovalAsked, node.RemovalAskedAt = true, epoch.Add(-longAgo)
	default:
	}
	m.Node = model.Known(node, epoch)
}

// readiness is the Ready condition of a Node, and since when.
func readiness(n NodeState) (model.Tri, time.Time) {
	switch n {
	case Ready:
		return model.Yes, epoch.Add(-longAgo)
	case NotReady:
		return model.Unclear, epoch.Add(-momentAgo)
	case LongNotReady:
		return model.Unclear, epoch.Add(-longAgo)
	default:
		return model.Unclear, time.Time{}
	}
}

func (v *View) member(i int, n *Names) model.Member {
	sight := v.Servers[i]
	s := sight.server()
	m := model.Member{ID: uint64(n.ID[i] + 1), PeerURLs: peer, Learner: s.Member() != Voter, Leader: s.has(Leader)}
	if s.Member() != Unstarted {
		m.Name = "node-" + n.Machine[i] + "-0000000a"
	}
	switch sight.answers() {
	case Answers:
		m.Answers = model.Known(true, epoch)
	case Refuses:
		m.Answers = model.Known(false, epoch)
	default:
		m.Answers = model.Unknown[bool]("no answer", epoch)
	}
	m.Doomed = s.doomed() && !s.unclaimed()
	m.NodeReady = model.No
	if s.Node() != NoNode {
		m.NodeReady, _ = readiness(s.Node())
	}
	if s.claimed() {
		m.Machine = n.Machine[i]
		return m
	}
	switch s.Unmatched() {
	case PastGrace:
		m.UnmatchedSince = epoch.Add(-minuteAgo)
	case PastJoinWindow:
		m.UnmatchedSince = epoch.Add(-longAgo)
	default:
		m.UnmatchedSince = epoch
	}
	return m
}
