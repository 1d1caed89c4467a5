package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// Sighting is a Snapshot as the model sees it: a View, and which server is
// which.
type Sighting struct {
	View View
	// Names are those of the Machines, by the index of the server. A member
	// without a Machine has its ID as name.
	Names [MaxServers]string
	// IDs are those of the members.
	IDs [MaxServers]uint64
	// of are the sources that it is made of.
	of Sources
}

// ErrNotModelled is returned for what the model has no place for.
var ErrNotModelled = errors.New("the model has no place for it")

// Abstract turns a Snapshot into a Sighting. Servers that were there in the
// one before keep their places.
func Abstract(s *model.Snapshot, before *Sighting) (*Sighting, error) {
	if s.ControlPlane.HiddenEtcd {
		return nil, fmt.Errorf("etcd that can't be reached: %w", ErrNotModelled)
	}
	out := &Sighting{of: everySource, View: View{
		Replicas: uint8(s.ControlPlane.Replicas), Surge: uint8(s.ControlPlane.MaxSurge),
		Initialized: s.ControlPlane.Initialized, WholeDeleted: s.ControlPlane.Deleting || s.Cluster.Deleting,
		External: s.ControlPlane.ExternalDatastore, EtcdUnknown: !s.Etcd.Members.Known,
	}}
	for i := range s.Machines {
		m := &s.Machines[i]
		at, err := out.place(m.Name, before)
		if err != nil {
			return nil, err
		}
		out.View.Servers[at] = out.machine(s, m)
	}
	// Etcd is reached through the workload cluster. Where nothing was read of
	// either, the second is unknown, too, even if no Machine says so.
	if !out.View.External {
		out.View.WorkloadUnknown = out.View.WorkloadUnknown || out.View.EtcdUnknown && !anyNodeKnown(s)
	}
	for i := range s.Etcd.Members.Value {
		m := &s.Etcd.Members.Value[i]
		name, sight := out.nameOf(m, before), memberSight(s, m)
		if early := earlyJoiner(s, m, before); early != "" {
			name, sight = early, earlySight(s, m)
		}
		at, err := out.place(name, before)
		if err != nil {
			return nil, err
		}
		out.View.Servers[at] |= sight
		out.IDs[at] = m.ID
	}
	return out, nil
}

// earlyJoiner is the Machine of a new member that no Machine is known for, when
// that can be one only: the host has joined before core has written its
// addresses into the Machine, by which the member would be known. Empty for any
// other member, and for a voter of which nobody knows whether it is new.
func earlyJoiner(s *model.Snapshot, member *model.Member, before *Sighting) string {
	if member.Machine != "" || s.Now.Sub(member.UnmatchedSince) >= plan.JoinWindow || before == nil && member.Voter() {
		return ""
	}
	if before != nil {
		if i := slices.Index(before.IDs[:], member.ID); i >= 0 && before.View.Servers[i].server().has(NodeRef) {
			return "" // it had another Machine
		}
	}
	name := ""
	for i := range s.Machines {
		m := &s.Machines[i]
		if _, listed := s.MemberOf(m.Name); listed || len(m.Addresses) > 0 || m.NodeName != "" {
			continue
		}
		if name != "" {
			return ""
		}
		name = m.Name
	}
	return name
}

// earlySight is what is seen of the member of a host that nobody has reported.
// The model lets nobody ask it: that takes a Node, which is known for its own
// only when the host is.
func earlySight(s *model.Snapshot, m *model.Member) Sight {
	own := *m
	own.Machine, own.Answers = "", model.Unknown[bool]("its Node is not known", s.Now)
	sight := memberSight(s, &own)
	out := sight.server()
	out.setUnmatched(JustSeen)
	flag(&out, Aged, sight.server().Unmatched() != JustSeen)
	return Sight(out)
}

func anyNodeKnown(s *model.Snapshot) bool {
	for i := range s.Machines {
		if s.Machines[i].Node.Known {
			return true
		}
	}
	return false
}

// nameOf is what the member's server is called: as its Machine, or as it was
// called before, when its Machine has gone.
func (o *Sighting) nameOf(m *model.Member, before *Sighting) string {
	if m.Machine != "" {
		return m.Machine
	}
	if before != nil {
		if i := slices.Index(before.IDs[:], m.ID); i >= 0 && m.ID != 0 && o.Names[i] == "" {
			return before.Names[i]
		}
	}
	return fmt.Sprintf("member %x", m.ID)
}

// place finds the place of a server: the one it has, the one it had, or a free
// one that nobody had.
func (o *Sighting) place(name string, before *Sighting) (int, error) {
	for _, names := range []*[MaxServers]string{&o.Names, beforeNames(before)} {
		for i := range names {
			if names[i] == name {
				o.Names[i] = name
				return i, nil
			}
		}
	}
	for i := range o.Names {
		if o.Names[i] == "" && (before == nil || before.Names[i] == "") {
			o.Names[i] = name
			return i, nil
		}
	}
	return 0, fmt.Errorf("more than %d servers: %w", MaxServers, ErrNotModelled)
}

func beforeNames(before *Sighting) *[MaxServers]string {
	if before == nil {
		return &[MaxServers]string{}
	}
	return &before.Names
}

// machine is what is seen of a Machine and its Node.
func (o *Sighting) machine(s *model.Snapshot, m *model.Machine) Sight {
	out := Server(0)
	out.setMachine(Staying)
	if m.Deleting {
		out.setMachine(Deleting)
		out.setPhase(phaseOf(m.Phase))
	}
	flag(&out, PreDrainHook, m.PreDrainHook)
	flag(&out, PreTerminateHook, m.PreTerminateHook)
	flag(&out, ForeignHook, len(m.ForeignPreTerminate) > 0)
	flag(&out, Outdated, !m.UpToDate())
	flag(&out, Provisioned, m.InfrastructureReady)
	flag(&out, Marked, m.Unhealthy != nil && !m.Deleting)
	flag(&out, NodeRef, m.NodeName != "")
	_, listed := s.MemberOf(m.Name)
	flag(&out, Late, m.InfrastructureReady && m.NodeName == "" && !listed && s.Now.Sub(m.Created) >= model.JoinTime)
	switch {
	case m.NodeName == "":
	case !m.Node.Known:
		o.View.WorkloadUnknown = true
	case m.Node.Value.Exists:
		nodeSight(&out, s, &m.Node.Value)
		flag(&out, RemovesMembers, m.Node.Value.RemovesMembers && listed && out.Phase() == WaitingForPreTerminate)
	}
	sight := Sight(out)
	if m.HostGone() {
		sight |= hostIsGone
	}
	return sight
}

func flag(s *Server, f Server, on bool) {
	if on {
		s.set(f)
	}
}

// phaseOf is the phase of the model for one of core's. Waiting for volumes is
// part of the drain, and everything after the host is part of its end.
func phaseOf(p model.Phase) Phase {
	switch p {
	case model.PhaseWaitingForPreDrain:
		return WaitingForPreDrain
	case model.PhaseDraining, model.PhaseWaitingForVolumes:
		return Draining
	case model.PhaseWaitingForPreTerm:
		return WaitingForPreTerminate
	case model.PhaseDeletingInfra:
		return DeletingHost
	case model.PhaseDeletingBootstrap, model.PhaseDeletingNode, model.PhaseDeletionCompleted:
		return DeletingNode
	default:
		return NotBegun
	}
}

func nodeSight(out *Server, s *model.Snapshot, n *model.Node) {
	switch {
	case n.Ready == model.Yes:
		out.setNode(Ready)
	case s.Now.Sub(n.ReadySince) >= model.DeadAfter:
		out.setNode(LongNotReady)
	default:
		out.setNode(NotReady)
	}
	switch {
	case !n.Excluded:
	case s.Now.Sub(n.ExcludedAt) >= s.ControlPlane.LoadBalancerSettle:
		out.setExcluded(Settled)
	default:
		out.setExcluded(JustExcluded)
	}
	if !n.RemovalAsked {
		return
	}
	switch age := s.Now.Sub(n.RemovalAskedAt); {
	case age >= plan.RemovalTimeout:
		out.setAsked(AskedForLong)
	case age >= plan.StoppedTimeout:
		out.setAsked(AskedForAWhile)
	default:
		out.setAsked(JustAsked)
	}
}

// memberSight is what is seen of a member.
func memberSight(s *model.Snapshot, m *model.Member) Sight {
	out := Server(0)
	switch {
	case m.Voter():
		out.setMember(Voter)
	case m.Started():
		out.setMember(Learner)
	default:
		out.setMember(Unstarted)
	}
	flag(&out, Leader, m.Leader)
	if m.Machine == "" {
		switch age := s.Now.Sub(m.UnmatchedSince); {
		case age >= plan.JoinWindow:
			out.setUnmatched(PastJoinWindow)
		case age >= plan.OrphanGrace:
			out.setUnmatched(PastGrace)
		default:
		}
	}
	staying := *m
	staying.Doomed = false // a member that is doomed answers all the same
	sight := Sight(out)
	switch {
	case !m.Answers.Known:
	case m.Answers.Value && staying.Healthy():
		sight |= Sight(Answers) << answersAt
	default:
		sight |= Sight(Refuses) << answersAt
	}
	return sight
}
