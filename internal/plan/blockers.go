package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// Rechecks. A watch reports everything the two API servers know; etcd's own
// list and health can only be asked for.
const (
	// soon is for changes of etcd's list that are expected within moments.
	soon = 500 * time.Millisecond
	// shortly is for a member that is about to be promoted or to answer.
	shortly = 2 * time.Second
	// later is for states that only somebody outside can end, and that no
	// watch reports.
	later = 15 * time.Second
)

func machineBlocker(m *model.Machine, unblock string) model.Blocker {
	return model.Blocker{Kind: "Machine", Name: m.Name, Since: m.StandsSince(), Unblock: unblock}
}

func memberBlockers(members []model.Member, unblock string) []model.Blocker {
	out := make([]model.Blocker, 0, len(members))
	for _, m := range members {
		out = append(out, model.Blocker{Kind: "etcd member", Name: m.Label(), Since: m.Answers.At, Unblock: unblock})
	}
	return out
}

// removalBlocker is a server whose member RKE2 removes.
func removalBlocker(m *model.Machine) model.Blocker {
	return model.Blocker{Kind: "Node", Name: m.NodeName, Since: m.Node.Value.RemovalAskedAt, Unblock: "it ends when RKE2 has removed that member"}
}

func (v *view) controlPlaneBlocker(unblock string) model.Blocker {
	return model.Blocker{Kind: "RKE2ControlPlane", Name: v.ControlPlane.Name, Unblock: unblock}
}

func (v *view) clusterBlocker(unblock string) model.Blocker {
	return model.Blocker{Kind: "Cluster", Name: v.Cluster.Name, Unblock: unblock}
}

// unknownMembers is the wait of every rule that needs etcd's list and has not
// got it.
func (v *view) unknownMembers(machine, what string) model.Wait {
	reason := v.Etcd.Members.Reason
	if reason == "" {
		reason = "it was not read yet"
	}
	return model.Wait{
		Machine: machine,
		Message: fmt.Sprintf("%s: etcd's member list is unknown (%s)", what, reason),
		Blockers: []model.Blocker{{
			Kind: "etcd", Name: v.Cluster.Name, Since: v.Etcd.Members.At,
			Unblock: "it ends when a voter answers through the workload API",
		}},
		Recheck: 5 * time.Second,
	}
}

// quorumBlocked is the wait for a verdict that says no.
func (v *view) quorumBlocked(machine, what string, verdict quorum.Verdict) model.Wait {
	blockers := memberBlockers(verdict.Members, "bring the member back, or delete the Machine it belongs to")
	if len(blockers) == 0 {
		blockers = []model.Blocker{v.controlPlaneBlocker("add a server")}
	}
	return model.Wait{
		Machine:  machine,
		Message:  what + ": " + verdict.Why,
		Blockers: blockers,
		Recheck:  shortly,
	}
}

// joining gives the first staying Machine that is not yet a full server.
func (v *view) joining() (*model.Machine, bool) {
	for _, m := range v.staying {
		if !v.joined(m) {
			return m, true
		}
	}
	return nil, false
}

// joiningWait tells where a joining Machine stands.
func (v *view) joiningWait(m *model.Machine, held string) model.Wait {
	w := model.Wait{Machine: held, Recheck: 0}
	member, listed := v.MemberOf(m.Name)
	what := "its Node to register"
	switch {
	case m.HostGone():
		what = "nothing any more: its infrastructure is gone, delete the Machine"
	case !m.InfrastructureReady:
		what = "its infrastructure to be provisioned"
	case listed && member.Learner:
		what, w.Recheck = "its etcd member to be promoted to a voter", shortly
	case listed && !member.Started():
		what, w.Recheck = "its etcd member to start", shortly
	case m.InfrastructureReady:
		w.Recheck = 5 * time.Second
	}
	w.Message = fmt.Sprintf("Machine %s is joining and waits for %s", m.Name, what)
	w.Blockers = []model.Blocker{machineBlocker(m, "it ends when the Machine's etcd member is a voter; if it never joins, look at its bootstrap log or delete it")}
	return w
}

func hookNames(hooks []model.Hook) string {
	names := make([]string, 0, len(hooks))
	for _, h := range hooks {
		if h.Owner == "" {
			names = append(names, h.Name)
			continue
		}
		names = append(names, h.Name+" of "+h.Owner)
	}
	return strings.Join(names, ", ")
}
