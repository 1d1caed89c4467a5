package plan

import (
	"slices"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// JoinWindow is how long a member may be without a Machine while some Machine
// may be the one it belongs to. RKE2 itself gives up on a learner that makes
// no progress after 5 minutes.
const JoinWindow = 6 * time.Minute

// OrphanGrace is how long a member may be without a Machine when no Machine
// can be the one it belongs to and no Node runs it. It covers a stale list of
// Machines.
const OrphanGrace = time.Minute

// orphanMemberIsRemoved takes members out of etcd's list that belong to no
// Machine and show no sign of life: leftovers of hosts that were destroyed
// without a goodbye. A member that answers, that leads (the others would have
// elected another one if it did not live) or whose Node is Ready is a server
// somebody runs by hand, and is left alone.
var orphanMemberIsRemoved = Rule{
	Name: "orphan_member_is_removed",
	Why:  "A leaked voter counts against the quorum for ever and blocks every later join.",
	decide: func(v *view) (model.Decision, bool) {
		for _, member := range v.Etcd.Members.Value {
			if !v.abandoned(member) || v.someOtherRemoval("") {
				continue
			}
			if quorum.AfterRemoval(v.Etcd.Members.Value, member.ID).OK {
				return do(model.RemoveMember{Member: member.ID, Ground: model.NoMachine, Name: member.Label()})
			}
		}
		return pass()
	},
}

func (v *view) abandoned(member model.Member) bool {
	if member.Machine != "" || member.UnmatchedSince.IsZero() {
		return false
	}
	if member.Leader || member.Answers.Known && member.Answers.Value || member.NodeReady == model.Yes {
		return false
	}
	grace := OrphanGrace
	if v.someMachineMayOwnIt() || member.NodeReady == model.Unclear {
		grace = JoinWindow // the Node of a host that is gone stays when core had no server to keep
	}
	return v.Now.Sub(member.UnmatchedSince) >= grace
}

// someMachineMayOwnIt tells whether a Machine exists that may own any unmatched
// member.
func (v *view) someMachineMayOwnIt() bool { return slices.ContainsFunc(v.machines, v.mayOwnAMember) }

// mayOwnAMember tells whether an unmatched member could be that of the Machine:
// nobody has reported the addresses yet by which it would be known, and the host
// may be there.
func (v *view) mayOwnAMember(m *model.Machine) bool {
	_, listed := v.MemberOf(m.Name)
	return !listed && len(m.Addresses) == 0 && !m.HostGone()
}
