package plan

import (
	"fmt"
	"slices"

	"github.com/drover-project/drover/internal/model"
)

// rolloutIsHeld keeps servers that differ from the spec from being replaced
// while somebody asks for that. It comes right before the rule that begins a
// replacement: one that has begun is finished, and servers that are missing,
// too many or broken are seen to all the same.
var rolloutIsHeld = Rule{
	Name: "rollout_is_held",
	Why: "A server replaced for a change that is about to be followed by another one is replaced twice; " +
		"and who wants to see first what a change would do can hold it.",
	decide: func(v *view) (model.Decision, bool) {
		if len(v.outdated()) == 0 {
			return pass()
		}
		if held := v.rolloutHeld(); len(held) > 0 {
			return wait(held...)
		}
		return pass()
	},
}

// rolloutHeld gives what holds rollouts as a whole, apart from the state of
// the servers. A topology changes the servers' settings at once but raises
// the version only when it is the control plane's turn (TopologyVersionMismatch
// in KubeadmControlPlane's preflight of Cluster API 1.14).
func (v *view) rolloutHeld() []model.Wait {
	var out []model.Wait
	if reason := v.ControlPlane.RolloutHeld; reason != "" {
		out = append(out, model.Wait{
			Operator: true,
			Message:  "rollouts are held: " + reason,
			Blockers: []model.Blocker{v.controlPlaneBlocker("remove the annotation rke2.controlplane.cluster.x-k8s.io/hold-rollout")},
		})
	}
	if pending := v.Cluster.PendingVersion; pending != "" {
		out = append(out, model.Wait{
			Message: fmt.Sprintf("the Cluster's topology is about to ask for version %s, and servers are replaced once for both changes", pending),
			Blockers: []model.Blocker{v.clusterBlocker("it ends when the topology has raised the control plane's version; " +
				"condition TopologyReconciled of the Cluster says what that waits for")},
		})
	}
	return out
}

// RolloutHeld gives what holds rollouts as a whole, whether or not there is one
// to be held. Waits without a rule are part of no decision.
func RolloutHeld(s model.Snapshot) []model.Wait { return newView(&s).rolloutHeld() }

// DepartureOrder names the Machines that stay and are to go, the next one first:
// those that are more than wished, and those that differ from the spec. What
// changes on the way, such as which failure domains are crowded, can change the
// order.
func DepartureOrder(s model.Snapshot) []string {
	v := newView(&s)
	v.staying = slices.Clone(v.staying)
	surplus := len(v.staying) - v.ControlPlane.Replicas
	var out []string
	for surplus > 0 || len(v.outdated()) > 0 {
		m := v.victim()
		if surplus > 0 || !m.UpToDate() {
			out = append(out, m.Name)
			surplus--
		}
		v.staying = slices.DeleteFunc(v.staying, func(other *model.Machine) bool { return other == m })
	}
	return out
}
