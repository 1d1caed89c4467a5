package plan

import (
	"fmt"

	"github.com/drover-project/drover/internal/model"
)

// deletionOfTheWhole takes everything down at once when the control plane or
// the Cluster is being deleted. There is no quorum to keep, and a host that is
// already gone must hold up nothing.
var deletionOfTheWhole = Rule{
	Name: "whole_control_plane_is_deleted",
	Why:  "When everything goes, hooks that wait for members, nodes or leaders would wait for ever for hosts that are gone.",
	decide: func(v *view) (model.Decision, bool) {
		if !v.wholeIsDeleted() {
			return pass()
		}
		if v.Cluster.Workers > 0 {
			return wait(v.workersLeft())
		}
		for _, m := range v.machines {
			if m.PreDrainHook || m.PreTerminateHook {
				return do(model.DropHooks{Machine: m.Name})
			}
		}
		for _, m := range v.staying {
			return do(model.DeleteMachine{Machine: m.Name, Why: "the control plane is being deleted"})
		}
		if len(v.deleting) > 0 {
			return wait(v.lastMachines())
		}
		if !v.ControlPlane.Deleting {
			return wait(model.Wait{
				Message:  "the Cluster is being deleted, and no server is left",
				Blockers: []model.Blocker{v.clusterBlocker("it ends when Cluster API deletes the control plane")},
			})
		}
		return do(model.FinishDeletion{})
	},
}

func (v *view) workersLeft() model.Wait {
	return model.Wait{
		Message:  fmt.Sprintf("%d worker Machines or MachinePools are still there: workers go first, so that their Nodes can be drained", v.Cluster.Workers),
		Blockers: []model.Blocker{v.clusterBlocker("delete the MachineDeployments, MachinePools and Machines of the cluster, or the Cluster itself")},
		Recheck:  later,
	}
}

func (v *view) lastMachines() model.Wait {
	w := model.Wait{Message: fmt.Sprintf("%d control-plane Machines are being deleted", len(v.deleting))}
	for _, m := range v.deleting {
		w.Blockers = append(w.Blockers, machineBlocker(m, "it ends when the infrastructure provider has deleted the host and the hooks of others are gone"))
	}
	return w
}
