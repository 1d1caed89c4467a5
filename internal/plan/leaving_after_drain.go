package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// How long RKE2 gets to remove a member it was asked to remove. Its own
// controller answers within a second when the server that runs it lives.
const (
	// RemovalTimeout is for a member that works on.
	RemovalTimeout = 60 * time.Second
	// StoppedTimeout is for a member that has stopped meanwhile: the server
	// that RKE2's controller ran on was the one that leaves, and took itself
	// down before it had removed itself. Its lease runs out only after 45 s.
	StoppedTimeout = 5 * time.Second
)

// afterDrain gives the Machine that core holds for us with drain and volumes
// done. Only the exact reason counts (Phase is core's own).
func (v *view) afterDrain() (*model.Machine, bool) {
	m, ok := v.leaver()
	return m, ok && m.Phase == model.PhaseWaitingForPreTerm && m.PreTerminateHook && !v.drainIsToCome(m)
}

// foreignHooksComeFirst lets everybody else finish before the kubelet goes
// blind: a backup hook needs a living node.
var foreignHooksComeFirst = Rule{
	Name: "foreign_hooks_come_first",
	Why:  "Whoever else holds the Machine still needs its node; without its etcd member the node is blind.",
	decide: func(v *view) (model.Decision, bool) {
		m, ok := v.afterDrain()
		if !ok || len(m.ForeignPreTerminate) == 0 {
			return pass()
		}
		return wait(model.Wait{
			Machine:  m.Name,
			Message:  fmt.Sprintf("Machine %s waits for the pre-terminate hooks of others: %s", m.Name, hookNames(m.ForeignPreTerminate)),
			Blockers: []model.Blocker{machineBlocker(m, "it ends when their owners remove those annotations")},
		})
	},
}

// leavingMember gives the member of the Machine held after its drain. The last
// result is a decision for the cases in which there is none to care for.
func (v *view) leavingMember() (*model.Machine, model.Member, bool) {
	m, ok := v.afterDrain()
	if !ok || v.ControlPlane.ExternalDatastore || !v.Etcd.Members.Known {
		return m, model.Member{}, false
	}
	member, listed := v.MemberOf(m.Name)
	return m, member, listed
}

// lastVoterStays keeps the last voter whatever is asked for, as long as the
// control plane itself is to live.
var lastVoterStays = Rule{
	Name: "last_voter_stays",
	Why:  "With the last voter all data of the cluster is gone.",
	decide: func(v *view) (model.Decision, bool) {
		m, member, ok := v.leavingMember()
		if !ok || !member.Voter() || len(quorum.Voters(v.Etcd.Members.Value)) > 1 {
			return pass()
		}
		return v.replace(m, quorum.AfterRemoval(v.Etcd.Members.Value, member.ID))
	},
}

// quorumSurvivesRemoval re-checks, after the drain, what was true before it. A
// drain takes minutes, and another server may have died meanwhile.
var quorumSurvivesRemoval = Rule{
	Name: "quorum_survives_removal",
	Why:  "A member may only go if the others keep quorum without it; what held before the drain may not hold after it.",
	decide: func(v *view) (model.Decision, bool) {
		m, member, ok := v.leavingMember()
		if !ok || member.Learner && quorum.Has(v.Etcd.Members.Value).OK {
			return pass()
		}
		return v.makeSafe(m, member)
	},
}

// leaderMovesFirst hands leadership to another voter before the leader's
// member is removed. Removing a leader stops all writes for an election.
var leaderMovesFirst = Rule{
	Name: "leader_moves_first",
	Why:  "Removing the leader stops every write for about five seconds; a transfer takes a fraction of one.",
	decide: func(v *view) (model.Decision, bool) {
		m, member, ok := v.leavingMember()
		if !ok || !member.Voter() {
			return pass()
		}
		if !v.leaderKnown() {
			return wait(model.Wait{
				Machine:  m.Name,
				Message:  fmt.Sprintf("Machine %s can't leave yet: etcd reports no leader", m.Name),
				Blockers: memberBlockers(v.Etcd.Members.Value, "it ends when the voters have elected a leader"),
				Recheck:  soon,
			})
		}
		// A leader that can't be asked can't hand over. The others elect a
		// new one when it is removed.
		if !member.Leader || !member.Healthy() {
			return pass()
		}
		to, found := v.nextLeader(member)
		if !found {
			return wait(v.quorumBlocked(m.Name, fmt.Sprintf("Machine %s can't leave: no other healthy voter can lead", m.Name), quorum.Has(v.Etcd.Members.Value)))
		}
		return do(model.MoveLeader{From: member.ID, To: to.ID, FromName: member.Label(), ToName: to.Label()})
	},
}

func (v *view) leaderKnown() bool {
	return slices.ContainsFunc(v.Etcd.Members.Value, func(m model.Member) bool { return m.Leader })
}

// nextLeader picks the voter that leads next: healthy, its Machine not being
// deleted, up to date before outdated so that leadership moves once, then the
// least behind. The ID breaks ties.
func (v *view) nextLeader(from model.Member) (model.Member, bool) {
	candidates := slices.DeleteFunc(slices.Clone(v.Etcd.Members.Value), func(m model.Member) bool {
		return m.ID == from.ID || !m.HealthyVoter()
	})
	if len(candidates) == 0 {
		return model.Member{}, false
	}
	return slices.MinFunc(candidates, func(a, b model.Member) int {
		return cmp.Or(
			cmp.Compare(v.leaderRank(a), v.leaderRank(b)),
			cmp.Compare(a.Lag, b.Lag),
			cmp.Compare(a.ID, b.ID),
		)
	}), true
}

func (v *view) leaderRank(m model.Member) int {
	machine, ok := v.MachineByName(m.Machine)
	switch {
	case !ok:
		return 2
	case machine.Deleting:
		return 3
	case !machine.UpToDate():
		return 1
	default:
		return 0
	}
}

// memberIsRemoved takes the member out by the path that can't lose quorum.
// RKE2's own removal stops the member and removes it at the same time; with
// two voters that race loses quorum for good, so there the removal is called
// through another voter first, and the member stops because it was removed.
var memberIsRemoved = Rule{
	Name: "member_is_removed_by_the_safe_path",
	Why:  "RKE2's removal annotation races with the stop of the static pod. If that stop alone would cost quorum, the member must be out of the list first.",
	decide: func(v *view) (model.Decision, bool) {
		m, member, ok := v.leavingMember()
		if !ok {
			return pass()
		}
		if other, busy := v.removalOfAnother(m.Name); busy {
			return wait(model.Wait{
				Machine:  m.Name,
				Message:  fmt.Sprintf("Machine %s waits until RKE2 has removed the etcd member of Machine %s: one member is removed at a time", m.Name, other.Name),
				Blockers: []model.Blocker{removalBlocker(other)},
				Recheck:  soon,
			})
		}
		if !v.rke2CanRemove(m, member) {
			return do(model.RemoveMember{Member: member.ID, Ground: model.Drained, Name: member.Label(), Machine: m.Name})
		}
		node := m.Node.Value
		if !node.RemovalAsked {
			return do(model.AskForMemberRemoval{Machine: m.Name, Member: member.ID})
		}
		limit := RemovalTimeout
		if !member.Healthy() {
			limit = StoppedTimeout
		}
		if v.Now.Sub(node.RemovalAskedAt) >= limit {
			return do(model.RemoveMember{Member: member.ID, Ground: model.Drained, Name: member.Label(), Machine: m.Name})
		}
		return wait(model.Wait{
			Machine:  m.Name,
			Message:  fmt.Sprintf("Machine %s waits for RKE2 to remove etcd member %s; after %s it is removed through another voter", m.Name, member.Label(), limit),
			Blockers: []model.Blocker{{Kind: "Node", Name: m.NodeName, Since: node.RemovalAskedAt, Unblock: "it ends by itself"}},
			Recheck:  soon,
		})
	},
}

// rke2CanRemove tells whether RKE2 may be asked, and is able, to remove the
// member: losing it abruptly costs nothing, the node is alive and knows its
// member, and it is another server that does the removing.
func (v *view) rke2CanRemove(m *model.Machine, member model.Member) bool {
	return member.Voter() && m.Alive() && m.Node.Value.MemberAnnotated && !m.Node.Value.RemovesMembers &&
		quorum.AfterLoss(v.Etcd.Members.Value, member.ID).OK
}

// etcdConfirmsRemoval releases the host when etcd's own list no longer holds
// the member. No annotation and no Node counts as proof.
var etcdConfirmsRemoval = Rule{
	Name: "etcd_confirms_removal",
	Why:  "A host destroyed with its member still listed leaves a dead voter behind.",
	decide: func(v *view) (model.Decision, bool) {
		m, ok := v.afterDrain()
		if !ok {
			return pass()
		}
		membership := !v.ControlPlane.ExternalDatastore && !v.neverBecameAServer(m)
		if membership && !v.Etcd.Members.Known {
			return wait(v.unknownMembers(m.Name, "Machine "+m.Name+" is not released"))
		}
		return do(model.ReleasePreTerminateHook{Machine: m.Name})
	},
}
