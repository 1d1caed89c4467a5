package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// strangeMemberIsSettledFirst holds a Machine whose member nobody could
// recognise, while there is a member that nobody recognises.
var strangeMemberIsSettledFirst = Rule{
	Name: "strange_member_is_settled_first",
	Why:  "A host can join before its addresses are reported. A member of which no Machine is known may be its own, and a host destroyed with its member listed leaves a dead voter behind.",
	decide: func(v *view) (model.Decision, bool) {
		m, ok := v.afterDrain()
		if !ok || v.ControlPlane.ExternalDatastore || !v.mayOwnAMember(m) || v.tooOldToJoin(m) {
			return pass()
		}
		i := slices.IndexFunc(v.Etcd.Members.Value, func(member model.Member) bool { return member.Machine == "" })
		if i < 0 {
			return pass()
		}
		member := v.Etcd.Members.Value[i]
		return wait(model.Wait{
			Machine: m.Name,
			Message: fmt.Sprintf("Machine %s is not released: its addresses are not known yet, and etcd lists member %s, of which no Machine is known and which may be its own",
				m.Name, member.Label()),
			Blockers: []model.Blocker{
				machineBlocker(m, fmt.Sprintf("it ends when the infrastructure provider reports its addresses, or %s after its creation", model.JoinTime)),
				{Kind: "etcd member", Name: member.Label(), Since: member.UnmatchedSince, Unblock: fmt.Sprintf("a member that shows no sign of life is removed after %s", JoinWindow)},
			},
			Recheck: v.joinRecheck(m),
		})
	},
}

// joinerIsLetInFirst holds a server that was deleted while it joins, if the
// cluster could not lose it again: between its release and the end of its host
// it can become a voter. Once it is listed, it is removed like every other.
var joinerIsLetInFirst = Rule{
	Name: "joiner_is_let_in_first",
	Why:  "A host that is released while it joins can become a voter and be destroyed as such, and with it the quorum.",
	decide: func(v *view) (model.Decision, bool) {
		m, ok := v.afterDrain()
		if !ok || v.ControlPlane.ExternalDatastore || !v.Etcd.Members.Known || !v.mayJoin(m) {
			return pass()
		}
		if other, busy := v.removalOfAnother(m.Name); busy {
			return wait(model.Wait{
				Machine:  m.Name,
				Message:  fmt.Sprintf("Machine %s was deleted while it joins, and waits until RKE2 has removed the etcd member of Machine %s: the cluster is not to lose both", m.Name, other.Name),
				Blockers: []model.Blocker{removalBlocker(other)},
				Recheck:  shortly,
			})
		}
		verdict := quorum.AfterJoinAndLoss(v.Etcd.Members.Value)
		if verdict.OK {
			return pass()
		}
		return wait(model.Wait{
			Machine: m.Name,
			Message: fmt.Sprintf("Machine %s was deleted while it joins, and the cluster could not lose it again (%s); "+
				"it is removed when it is a member, or released %s after its creation", m.Name, verdict.Why, model.JoinTime),
			Blockers: []model.Blocker{machineBlocker(m, "it ends when the Machine is in etcd's list, when another server has joined, or by itself")},
			Recheck:  v.joinRecheck(m),
		})
	},
}

// mayJoin tells whether the Machine's host may be about to join: it has never
// been seen in the cluster, and is not too old for that. It may run before its
// infrastructure reports it.
func (v *view) mayJoin(m *model.Machine) bool {
	_, listed := v.MemberOf(m.Name)
	return !listed && m.NodeName == "" && !m.HostGone() && !v.tooOldToJoin(m)
}

// joinRecheck is when to look again at a server that may join: soon at one that
// is reported, for the others a watch tells when they are.
func (v *view) joinRecheck(m *model.Machine) time.Duration {
	if m.InfrastructureReady {
		return min(v.joinTimeLeft(m), shortly)
	}
	return min(v.joinTimeLeft(m), later)
}

// joinTimeLeft is for how long the Machine's host may still join.
func (v *view) joinTimeLeft(m *model.Machine) time.Duration {
	return model.JoinTime - v.Now.Sub(m.Created)
}

func (v *view) tooOldToJoin(m *model.Machine) bool { return v.joinTimeLeft(m) <= 0 }
