package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/drover-project/drover/internal/model"
)

// brokenOutdatedServerGoesFirst replaces an outdated server that is proven
// broken before the healthy ones, and without a replacement first: while its
// voter is down, none could join.
var brokenOutdatedServerGoesFirst = Rule{
	Name: "broken_outdated_server_goes_first",
	Why:  "A rollout is often the cure of a broken server; with its voter down no other server can join.",
	decide: func(v *view) (model.Decision, bool) {
		for _, m := range v.outdated() {
			if v.isDeadWeight(m) {
				return do(model.DeleteMachine{Machine: m.Name, Why: "its host is dead and it is outdated: " + strings.Join(m.Outdated, ", ")})
			}
		}
		return pass()
	},
}

// controlPlaneIsHealthy begins nothing new while a server that stays is not
// whole: its member, its static pods and its Node.
var controlPlaneIsHealthy = Rule{
	Name: "control_plane_is_healthy",
	Why:  "Each change costs tolerance for a while; a cluster with a broken server has none to spare.",
	decide: func(v *view) (model.Decision, bool) {
		if v.nothingToChange() {
			return pass()
		}
		for _, m := range v.staying {
			if w, broken := v.broken(m); broken {
				return wait(w)
			}
		}
		return pass()
	},
}

func (v *view) nothingToChange() bool {
	return len(v.staying) == v.ControlPlane.Replicas && len(v.outdated()) == 0
}

// broken tells what is wrong with a server. A Node need not be Ready for a
// server to join: without a CNI it never is, and the CNI may come later. It has
// to be for the next one to be replaced, unless no CNI is to be expected at all.
func (v *view) broken(m *model.Machine) (model.Wait, bool) {
	w := model.Wait{Recheck: shortly, Blockers: []model.Blocker{machineBlocker(m, "bring the server back, or delete its Machine")}}
	if member, ok := v.MemberOf(m.Name); ok && !member.Healthy() {
		trouble, _ := member.Trouble()
		w.Message = fmt.Sprintf("etcd member %s of Machine %s is not healthy: it %s", member.Label(), m.Name, trouble)
		return w, true
	}
	for _, name := range slices.Sorted(maps.Keys(m.Components)) {
		if c := m.Components[name]; !c.Known || !c.Value {
			w.Message = fmt.Sprintf("%s of Machine %s is not healthy: %s", name, m.Name, c.Reason)
			return w, true
		}
	}
	if len(v.staying) >= v.ControlPlane.Replicas && v.isNotReady(m) {
		return notReadyWait(m), true
	}
	return model.Wait{}, false
}

// isNotReady tells whether the Node is less well than it can be.
func (v *view) isNotReady(m *model.Machine) bool { return !m.Alive() && !v.lacksNetworkOnly(m) }

func notReadyWait(m *model.Machine) model.Wait {
	return model.Wait{
		Message: fmt.Sprintf("Node %s of Machine %s is not Ready", m.NodeName, m.Name), Recheck: shortly,
		Blockers: []model.Blocker{machineBlocker(m, "bring the server back, or delete its Machine")},
	}
}

// lacksNetworkOnly tells whether a Node that is not Ready is as well as it can
// be: its kubelet reports, and no CNI is to be expected.
func (v *view) lacksNetworkOnly(m *model.Machine) bool {
	return v.ControlPlane.NetworkOptional && m.Node.Known && m.Node.Value.Exists && m.Node.Value.Ready == model.No
}

// surplusServerIsDeleted takes away what is more than wished, the outdated
// first. It is also the second half of each replacement.
var surplusServerIsDeleted = Rule{
	Name: "surplus_server_is_deleted",
	Why:  "One server more than wished is either the old half of a replacement or what a scale down asks to go.",
	decide: func(v *view) (model.Decision, bool) {
		if len(v.staying) <= v.ControlPlane.Replicas {
			return pass()
		}
		m := v.victim()
		why := "there are more servers than wished"
		if !m.UpToDate() {
			why = "it is outdated: " + strings.Join(m.Outdated, ", ")
		}
		return do(model.DeleteMachine{Machine: m.Name, Why: why})
	},
}

// outdatedServerIsReplaced changes one server after the other: with surge the
// new one first, without it the old one.
var outdatedServerIsReplaced = Rule{
	Name: "outdated_server_is_replaced",
	Why:  "A change of version or configuration reaches a server only by replacing it.",
	decide: func(v *view) (model.Decision, bool) {
		outdated := v.outdated()
		if len(outdated) == 0 {
			return pass()
		}
		if v.ControlPlane.MaxSurge > 0 {
			return v.create(model.Surge)
		}
		m := v.victim()
		return do(model.DeleteMachine{Machine: m.Name, Why: "it is outdated: " + strings.Join(m.Outdated, ", ")})
	},
}

// victim picks the server that goes: outdated ones that the user would like to
// see go, any that the user would like to see go, outdated ones, all; among
// them the one in the most crowded failure domain, then the oldest.
func (v *view) victim() *model.Machine {
	return slices.MinFunc(v.staying, func(a, b *model.Machine) int {
		return cmp.Or(
			cmp.Compare(victimRank(a), victimRank(b)),
			cmp.Compare(v.crowd(b), v.crowd(a)),
			a.Created.Compare(b.Created),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

func victimRank(m *model.Machine) int {
	switch {
	case m.DeletionWished && !m.UpToDate():
		return 0
	case m.DeletionWished:
		return 1
	case !m.UpToDate():
		return 2
	default:
		return 3
	}
}

// crowd counts the servers in the Machine's failure domain. A domain that the
// cluster no longer has counts as the most crowded.
func (v *view) crowd(m *model.Machine) int {
	if len(v.Cluster.FailureDomains) > 0 && !slices.Contains(v.Cluster.FailureDomains, m.FailureDomain) {
		return len(v.machines) + 1
	}
	n := 0
	for _, other := range v.staying {
		if other.FailureDomain == m.FailureDomain {
			n++
		}
	}
	return n
}
