package plan

import (
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// deadMemberGoesFirst removes the member of a Machine that somebody deleted
// and whose host is proven dead, whatever else is being waited for. etcd
// refuses every addition while a voter is down, so as long as the dead member
// is listed no replacement can join and nothing else can be made safe.
var deadMemberGoesFirst = Rule{
	Name: "dead_member_goes_first",
	Why:  "etcd accepts no new member while a voter is down: a dead member left in the list blocks every rescue.",
	decide: func(v *view) (model.Decision, bool) {
		for _, m := range v.machines {
			member, listed := v.MemberOf(m.Name)
			if !listed || !v.provenDead(m, member) || v.someOtherRemoval(m.Name) {
				continue
			}
			if quorum.AfterRemoval(v.Etcd.Members.Value, member.ID).OK {
				return do(model.RemoveMember{Member: member.ID, Ground: model.HostDead, Name: member.Label(), Machine: m.Name})
			}
		}
		return pass()
	},
}

// provenDead tells whether a member can be given up without asking its host:
// its infrastructure does not exist any more, or somebody deleted the Machine
// and neither its member nor its Node gives a sign of life. A Machine that
// nobody deleted keeps its member on mere silence, because it may be cut off
// and alive.
func (v *view) provenDead(m *model.Machine, member model.Member) bool {
	if member.Answers.Known && member.Answers.Value {
		return false
	}
	if m.HostGone() {
		return true
	}
	return m.Deleting && v.hostIsDead(m)
}
