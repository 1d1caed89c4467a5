package plan

import (
	"fmt"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// releasedServerDisappears waits for a Machine that has passed our hooks. The
// next one may not begin before its host is gone.
var releasedServerDisappears = Rule{
	Name: "released_server_disappears",
	Why:  "Until the host is destroyed it may still serve clients or rejoin; two servers must never be on their way out together.",
	decide: func(v *view) (model.Decision, bool) {
		m, ok := v.leaver()
		if !ok || m.PreTerminateHook && !m.Phase.PastHooks() {
			return pass()
		}
		return wait(model.Wait{
			Machine:  m.Name,
			Message:  fmt.Sprintf("Machine %s is released and its host is being destroyed%s", m.Name, detail(m)),
			Blockers: []model.Blocker{machineBlocker(m, "it ends when the infrastructure provider has deleted the host and core the Node")},
		})
	},
}

// replacementBeforeDrain holds a Machine before its drain until the others can
// do without it: with maxSurge 1 the full number of healthy voters stays, with
// maxSurge 0 one fewer. It counts for every deletion, also one by a user, and
// for servers that work where there are no members to count.
var replacementBeforeDrain = Rule{
	Name: "replacement_before_drain",
	Why:  "A server that is drained before its replacement votes leaves a cluster that the next failure stops.",
	decide: func(v *view) (model.Decision, bool) {
		m, ok := v.leaver()
		if ok && v.ControlPlane.ExternalDatastore {
			return v.keepServing(m)
		}
		if !ok || !m.PreDrainHook || m.Phase == model.PhaseWaitingForPreTerm && !v.drainIsToCome(m) {
			return pass()
		}
		if v.neverBecameAServer(m) {
			return pass()
		}
		if !v.Etcd.Members.Known {
			return wait(v.unknownMembers(m.Name, "Machine "+m.Name+" is not drained"))
		}
		// A member that does not work needs no replacement, but the others must
		// have their quorum: while they elect a leader nobody seems to work.
		member, listed := v.MemberOf(m.Name)
		if !listed {
			return pass()
		}
		if d, ok := v.makeSafe(m, member); ok {
			return d, true
		}
		return pass()
	},
}

// loadBalancersLetGoFirst labels the Node so that external load balancers and
// VIPs stop sending clients to it, and gives them time.
var loadBalancersLetGoFirst = Rule{
	Name: "load_balancers_let_go_first",
	Why:  "An API server that is about to lose its etcd must not be the one clients are sent to.",
	decide: func(v *view) (model.Decision, bool) {
		m, ok := v.leaver()
		if !ok || !m.PreDrainHook || m.Phase != model.PhaseWaitingForPreDrain {
			return pass()
		}
		if !v.ControlPlane.ExcludeFromLoadBalancers || len(v.machines) == 1 {
			return pass()
		}
		if !m.Node.Known && m.HostGone() {
			return pass() // nobody is sent to a host that is gone, and perhaps no API server is left to read its Node from
		}
		if m.NodeName == "" {
			return wait(untoldNode(m))
		}
		if !m.Node.Known {
			return wait(model.Wait{
				Machine:  m.Name,
				Message:  fmt.Sprintf("Machine %s is not drained: its Node %s could not be read (%s)", m.Name, m.NodeName, m.Node.Reason),
				Blockers: []model.Blocker{{Kind: "Node", Name: m.NodeName, Since: m.Node.At, Unblock: "it ends when the workload API answers"}},
				Recheck:  later,
			})
		}
		node := m.Node.Value
		if !node.Exists {
			return pass()
		}
		if !node.Excluded {
			return do(model.ExcludeFromLoadBalancers{Machine: m.Name})
		}
		if left := v.ControlPlane.LoadBalancerSettle - v.Now.Sub(node.ExcludedAt); left > 0 && node.Ready == model.Yes {
			return wait(model.Wait{
				Machine:  m.Name,
				Message:  fmt.Sprintf("Machine %s is not drained yet: load balancers get %s to let go of it", m.Name, v.ControlPlane.LoadBalancerSettle),
				Blockers: []model.Blocker{{Kind: "Node", Name: m.NodeName, Since: node.ExcludedAt, Unblock: "it ends by itself"}},
				Recheck:  left,
			})
		}
		return pass()
	},
}

// untoldNode is the wait for the name of a Node that core has found: it stops at
// a pre-drain hook only when there is one to drain, and writes its conditions
// before the rest of the status (patch helper of Cluster API 1.14).
func untoldNode(m *model.Machine) model.Wait {
	return model.Wait{
		Machine:  m.Name,
		Message:  fmt.Sprintf("Machine %s is not drained: core has found its Node and is about to tell which", m.Name),
		Blockers: []model.Blocker{machineBlocker(m, "it ends when core has written the Machine's status")},
		Recheck:  later,
	}
}

// drainComesBeforeMember releases the drain when everything before it is done,
// and then stands still until core says that drain and volumes are finished.
// This is the rule the project exists for: a kubelet whose etcd member is gone
// is blind, and its pods never end.
var drainComesBeforeMember = Rule{
	Name: "drain_comes_before_member",
	Why:  "A server's kubelet reaches the API only through its own etcd member. Removed before the drain, pods stay Terminating for ever.",
	decide: func(v *view) (model.Decision, bool) {
		m, ok := v.leaver()
		if !ok || m.Phase == model.PhaseWaitingForPreTerm && !v.drainIsToCome(m) {
			return pass()
		}
		if m.PreDrainHook && m.Phase == model.PhaseWaitingForPreDrain {
			return do(model.ReleasePreDrainHook{Machine: m.Name})
		}
		w := model.Wait{
			Machine:  m.Name,
			Message:  fmt.Sprintf("Machine %s is being drained%s", m.Name, detail(m)),
			Blockers: []model.Blocker{machineBlocker(m, "it ends when core has drained the Node and its volumes are detached")},
			Recheck:  later, // a Node that dies meanwhile counts as dead only after a while, which no watch reports
		}
		switch {
		case v.drainIsToCome(m):
			w.Message = fmt.Sprintf("Machine %s was deleted before core knew of its Node or of a server that stays; core comes back to its pre-drain hook", m.Name)
			w.Blockers[0].Unblock = "it ends when core looks at the Machine again"
		case m.Phase == model.PhaseWaitingForPreDrain && len(m.ForeignPreDrain) > 0:
			w.Message = fmt.Sprintf("Machine %s is not drained yet: it waits for the pre-drain hooks of others (%s)", m.Name, hookNames(m.ForeignPreDrain))
			w.Blockers[0].Unblock = "it ends when their owners remove those annotations"
		case m.Phase == model.PhaseWaitingForVolumes:
			w.Message = fmt.Sprintf("Machine %s is drained and waits for its volumes%s", m.Name, detail(m))
		case m.Phase == model.PhaseWaitingForPreDrain:
			w.Message = fmt.Sprintf("Machine %s is released to be drained; core has not begun", m.Name)
		case m.Phase != model.PhaseDraining:
			w.Message = fmt.Sprintf("Machine %s was deleted; core has not begun to drain it%s", m.Name, detail(m))
		}
		return wait(w)
	},
}

// neverBecameAServer tells whether the cluster has never answered and the
// Machine has no Node: then there is no member list to ask for and nothing to
// lose.
func (v *view) neverBecameAServer(m *model.Machine) bool {
	return !v.ControlPlane.Initialized && m.NodeName == ""
}

func detail(m *model.Machine) string {
	if m.Detail == "" {
		return ""
	}
	return ": " + m.Detail
}

// makeSafe brings about that the leaver can go: the others are enough and keep
// quorum without it. The second result is false when that is so already.
func (v *view) makeSafe(m *model.Machine, member model.Member) (model.Decision, bool) {
	verdict := quorum.AfterRemoval(v.Etcd.Members.Value, member.ID)
	if !verdict.OK {
		return v.replace(m, verdict)
	}
	have, want := v.healthyVotersStaying(), v.votersToKeep()
	if have >= want || !member.HealthyVoter() || v.isFull() || v.removalIsUnderWay(m) {
		return pass() // a removal that is under way is finished, whatever would be better now
	}
	verdict.Why = fmt.Sprintf("%d healthy voters stay, %d are wanted", have, want)
	return v.replace(m, verdict)
}

// isFull tells whether no further replacement may be made while Machines are
// being deleted, and none is on its way. Then a removal that keeps quorum is
// what makes room for the next replacement.
func (v *view) isFull() bool {
	_, someoneJoins := v.joining()
	return !someoneJoins && len(v.machines) >= v.mostMachines()
}

// mostMachines is how many Machines may exist at once: the wished number, the
// surge, and one more for a rescue.
func (v *view) mostMachines() int {
	return v.ControlPlane.Replicas + v.ControlPlane.MaxSurge + 1
}

// votersToKeep is how many healthy voters must stay when a server leaves.
func (v *view) votersToKeep() int {
	if v.ControlPlane.MaxSurge == 0 {
		return v.ControlPlane.Replicas - 1
	}
	return v.ControlPlane.Replicas
}

// replace creates the server that is missing for m to leave, although m is
// being deleted, or says what hinders it.
func (v *view) replace(m *model.Machine, why quorum.Verdict) (model.Decision, bool) {
	held := fmt.Sprintf("Machine %s can't leave (%s)", m.Name, why.Why)
	if joiner, ok := v.joining(); ok {
		w := v.joiningWait(joiner, m.Name)
		w.Message = held + ": " + w.Message
		return wait(w)
	}
	if len(v.staying) >= v.ControlPlane.Replicas && v.ControlPlane.ExternalDatastore {
		return wait(model.Wait{Machine: m.Name, Message: held, Blockers: v.idleStaying(), Recheck: later})
	}
	if len(v.staying) >= v.ControlPlane.Replicas {
		return wait(v.quorumBlocked(m.Name, fmt.Sprintf("Machine %s can't leave", m.Name), v.unhealthyStaying(why)))
	}
	if w, blocked := v.cannotCreate(); blocked {
		w.Machine = m.Name
		w.Message = held + ", and no replacement can be made: " + w.Message
		return wait(w)
	}
	if len(v.machines) >= v.mostMachines() {
		return wait(model.Wait{
			Machine:  m.Name,
			Message:  fmt.Sprintf("%s, and there are already %d Machines", held, len(v.machines)),
			Blockers: []model.Blocker{machineBlocker(v.deleting[len(v.deleting)-1], "it ends when a deleted Machine is gone")},
			Recheck:  later,
		})
	}
	return do(model.CreateMachine{Purpose: model.Rescue, FailureDomain: v.nextFailureDomain()})
}

// unhealthyStaying names the staying members that are not healthy, if the
// verdict names none itself.
func (v *view) unhealthyStaying(why quorum.Verdict) quorum.Verdict {
	if len(why.Members) > 0 {
		return why
	}
	for _, m := range v.staying {
		if member, ok := v.MemberOf(m.Name); ok && !member.HealthyVoter() {
			why.Members = append(why.Members, member)
		}
	}
	return why
}
