package plan

import "github.com/drover-project/drover/internal/model"

// hooksAreKept puts back hooks that somebody removed. Without the hooks core
// would drain and destroy a server with nobody watching its etcd member.
var hooksAreKept = Rule{
	Name: "hooks_are_kept",
	Why:  "A Machine without our hooks can be destroyed with its etcd member still listed, which costs a vote for ever.",
	decide: func(v *view) (model.Decision, bool) {
		for _, m := range v.staying {
			if !m.PreDrainHook || !m.PreTerminateHook {
				return do(model.RestoreHooks{Machine: m.Name})
			}
		}
		for _, m := range v.deleting {
			if v.lostItsHook(m) {
				return do(model.RestoreHooks{Machine: m.Name, PreTerminateOnly: true})
			}
		}
		return pass()
	},
}

// lostItsHook tells a hook that was lost from one that we released: we release
// it only after the member has left the list. Once core destroys the host, a
// hook would hold nothing.
func (v *view) lostItsHook(m *model.Machine) bool {
	if m.PreTerminateHook || m.Phase.PastHooks() {
		return false
	}
	_, listed := v.MemberOf(m.Name)
	return v.Etcd.Members.Known && listed
}
