package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// UnhealthyServerIsReplaced is the name of the rule that follows the marks of
// a MachineHealthCheck, and of the waits of those it can't follow yet.
const UnhealthyServerIsReplaced = "unhealthy_server_is_replaced"

// unhealthyServerIsReplaced deletes a server that a MachineHealthCheck wants
// replaced. A server whose member is broken goes although others are leaving or
// joining: they may be waiting for nothing else. One whose member works leaves
// like any other, with its replacement first, and waits for its turn.
var unhealthyServerIsReplaced = Rule{
	Name: UnhealthyServerIsReplaced,
	Why:  "A broken server that nobody replaces leaves no tolerance for the next failure, and its dead voter blocks every join.",
	decide: func(v *view) (model.Decision, bool) {
		for _, m := range v.unhealthy() {
			if _, held := v.hindersRemediation(m); held {
				continue
			}
			retry, _ := v.retry(m)
			return do(model.DeleteMachine{Machine: m.Name, Why: "its health check failed" + because(m.Unhealthy.Why), Remediate: true, Retry: retry})
		}
		return pass()
	},
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// unhealthy are the staying Machines that are marked, the one to go first
// first: the one that the user wants to go, one that never became a server, one
// with a broken member, one with broken components, the oldest.
func (v *view) unhealthy() []*model.Machine {
	var out []*model.Machine
	for _, m := range v.staying {
		if m.Unhealthy != nil {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *model.Machine) int {
		return cmp.Or(
			cmp.Compare(v.illness(a), v.illness(b)),
			a.Created.Compare(b.Created),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return out
}

// illness ranks an unhealthy server, the lowest is the first to go.
func (v *view) illness(m *model.Machine) int {
	member, listed := v.MemberOf(m.Name)
	switch {
	case m.Unhealthy.First:
		return 0
	case m.NodeName == "":
		return 1
	case v.Etcd.Members.Known && (!listed || !member.Healthy()):
		return 2
	case brokenComponents(m) > 0:
		return 3
	default:
		return 4
	}
}

func brokenComponents(m *model.Machine) int {
	n := 0
	for name := range maps.Keys(m.Components) {
		if c := m.Components[name]; c.Known && !c.Value {
			n++
		}
	}
	return n
}

// hindersRemediation says why an unhealthy server is not replaced now.
func (v *view) hindersRemediation(m *model.Machine) (model.Wait, bool) {
	if _, w := v.retry(m); w != nil {
		return *w, true
	}
	switch {
	case !v.ControlPlane.Initialized:
		return model.Wait{}, false // it holds no data yet
	case v.ControlPlane.ExternalDatastore:
		return v.hindersWithoutMembers(m)
	case !v.Etcd.Members.Known:
		return v.unknownMembers(m.Name, unhealthyStays(m)), true
	}
	member, listed := v.MemberOf(m.Name)
	switch {
	case !listed && (!m.InfrastructureReady || !v.mayJoin(m)) && !v.mayBeUnmatched(m):
		return model.Wait{}, false // it is no voter: nothing is lost with it
	case listed && v.memberIsBroken(m, member):
		if verdict := quorum.AfterRemoval(v.Etcd.Members.Value, member.ID); !verdict.OK {
			return v.quorumBlocked(m.Name, unhealthyStays(m), verdict), true
		}
		return model.Wait{}, false
	default:
		return v.hindersTurn(m)
	}
}

// memberIsBroken tells whether a marked server does nothing for the quorum: its
// member says so, or can't be asked because its host is dead or never got as
// far as to register a Node.
func (v *view) memberIsBroken(m *model.Machine, member model.Member) bool {
	if member.Answers.Known && !member.Answers.Value {
		return true
	}
	return !member.Healthy() && (m.NodeName == "" || v.hostIsDead(m))
}

// mayBeUnmatched tells whether a member that no Machine was found for may be
// that of a server that has a Node.
func (v *view) mayBeUnmatched(m *model.Machine) bool {
	return m.NodeName != "" && slices.ContainsFunc(v.Etcd.Members.Value, func(member model.Member) bool { return member.Machine == "" })
}

// hindersWithoutMembers is for an external datastore: its data survive all
// servers, but somebody must answer.
func (v *view) hindersWithoutMembers(m *model.Machine) (model.Wait, bool) {
	if v.neverCame(m) {
		return model.Wait{}, false
	}
	if v.hostIsDead(m) && slices.ContainsFunc(v.machines, func(other *model.Machine) bool { return other != m && other.Alive() }) {
		return model.Wait{}, false // a server that is being deleted may wait for its replacement
	}
	if v.anotherWorks(m) || v.ControlPlane.Remediation.SingleServer && !v.ControlPlane.HiddenEtcd {
		return v.hindersTurn(m)
	}
	return v.singleServerWait(m, "no other server works"), true
}

// neverCame tells whether a server has no Node and is too old to get one.
func (v *view) neverCame(m *model.Machine) bool {
	return m.NodeName == "" && m.InfrastructureReady && v.tooOldToJoin(m)
}

// hindersTurn holds a server that leaves like any other: one at a time, and
// never the only one unless the operator allows it.
func (v *view) hindersTurn(m *model.Machine) (model.Wait, bool) {
	if len(v.deleting) > 0 {
		return model.Wait{
			Machine:  m.Name,
			Message:  fmt.Sprintf("%s until Machine %s is gone: one server leaves at a time", unhealthyStays(m), v.deleting[0].Name),
			Blockers: []model.Blocker{machineBlocker(v.deleting[0], "it ends when that Machine is gone")},
		}, true
	}
	if joiner, ok := v.joining(); ok && joiner != m {
		w := v.joiningWait(joiner, m.Name)
		w.Message = unhealthyStays(m) + ": " + w.Message
		return w, true
	}
	if w, first := v.worseThan(m); first {
		w.Machine, w.Message = m.Name, unhealthyStays(m)+": "+w.Message
		return w, true
	}
	if v.ControlPlane.Replicas == 1 && len(v.staying) == 1 && !v.ControlPlane.Remediation.SingleServer {
		return v.singleServerWait(m, "it is the only one"), true
	}
	return model.Wait{}, false
}

// worseThan tells whether another server that stays is broken, or may turn out
// to be, while this one, although it is marked, is not.
func (v *view) worseThan(m *model.Machine) (model.Wait, bool) {
	if _, broken := v.broken(m); broken || v.isNotReady(m) {
		return model.Wait{}, false
	}
	for _, other := range v.staying {
		if w, broken := v.broken(other); broken {
			return w, true
		}
		if v.isNotReady(other) {
			return notReadyWait(other), true
		}
	}
	return model.Wait{}, false
}

func unhealthyStays(m *model.Machine) string {
	return fmt.Sprintf("unhealthy Machine %s is not replaced", m.Name)
}

func (v *view) singleServerWait(m *model.Machine, why string) model.Wait {
	return model.Wait{
		Machine: m.Name,
		Message: unhealthyStays(m) + ": " + why,
		Blockers: []model.Blocker{v.controlPlaneBlocker("repair the server, delete its Machine, or allow it with the annotation " +
			"rke2.controlplane.cluster.x-k8s.io/remediate-single-server: \"true\"")},
		Operator: true,
		Recheck:  later,
	}
}

// retry is the place of this replacement in a row of replacements, each of
// which failed in its turn. The second result is set while the row may not go
// on: the limits are the user's.
func (v *view) retry(m *model.Machine) (int, *model.Wait) {
	policy, last := v.ControlPlane.Remediation, m.RemediationFor
	if last == nil {
		return 0, nil
	}
	if v.Now.Sub(last.At) > max(policy.MinHealthyPeriod, policy.RetryPeriod) {
		return 0, nil // it has lived long enough: this is another failure
	}
	w := &model.Wait{Machine: m.Name, Blockers: []model.Blocker{machineBlocker(m, "")}}
	if policy.MaxRetry != nil && last.Retry >= *policy.MaxRetry {
		w.Message = fmt.Sprintf("%s: it replaces %s, and %d replacements in a row are the limit", unhealthyStays(m), last.Machine, *policy.MaxRetry)
		w.Blockers[0].Unblock = "repair the server or delete its Machine; raise spec.remediation.maxRetry for more attempts"
		w.Recheck, w.Operator = later, true
		return 0, w
	}
	if left := policy.RetryPeriod - v.Now.Sub(last.At); left > 0 {
		w.Message = fmt.Sprintf("%s yet: it replaces %s since %s, and the retry period is %s", unhealthyStays(m), last.Machine, last.At.UTC().Format(time.TimeOnly+" UTC"), policy.RetryPeriod)
		w.Blockers[0].Unblock = "it ends by itself"
		w.Recheck = left
		return 0, w
	}
	return last.Retry + 1, nil
}

// notRemediated are the waits of the unhealthy Machines that are not replaced
// now. They hold up nothing else.
func (v *view) notRemediated() []model.Wait {
	if v.wholeIsDeleted() {
		return nil
	}
	var out []model.Wait
	for _, m := range v.unhealthy() {
		if w, held := v.hindersRemediation(m); held {
			w.Rule = UnhealthyServerIsReplaced
			out = append(out, w)
		}
	}
	return out
}
