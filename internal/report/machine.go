package report

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

// podConditions are the Machine conditions about static pods, by the name of
// the component in model.Machine.Components.
var podConditions = []struct{ component, kind string }{
	{"kube-apiserver", controlplanev1.MachineAPIServerPodHealthyCondition},
	{"kube-controller-manager", controlplanev1.MachineControllerManagerPodHealthyCondition},
	{"kube-scheduler", controlplanev1.MachineSchedulerPodHealthyCondition},
	{"etcd", controlplanev1.MachineEtcdPodHealthyCondition},
}

// OwnedMachineConditions are the types of a Machine's conditions that a Report
// sets.
func OwnedMachineConditions() []string {
	out := []string{controlplanev1.MachineUpToDateCondition, controlplanev1.MachineEtcdMemberHealthyCondition}
	for _, p := range podConditions {
		out = append(out, p.kind)
	}
	return out
}

func (r reporter) machineConditions(m *clusterv1.Machine) []metav1.Condition {
	seen, ok := r.Snapshot.MachineByName(m.Name)
	if !ok {
		return nil
	}
	out := []metav1.Condition{upToDate(m, seen)}
	for _, p := range podConditions {
		if _, runs := seen.Components[p.component]; runs {
			out = append(out, r.remoteOf(m, seen, p.kind, func() metav1.Condition { return pod(seen, p.component, p.kind) }))
		}
	}
	if !r.Snapshot.ControlPlane.ExternalDatastore {
		const kind = controlplanev1.MachineEtcdMemberHealthyCondition
		out = append(out, r.remoteOf(m, seen, kind, func() metav1.Condition { return r.member(seen) }))
	}
	if c, ok := r.ownerRemediated(m, seen); ok {
		out = append(out, c)
	}
	return out
}

// remoteOf is a condition that can be told only from within the workload
// cluster: as it was while contact is lost for a short time, not known without
// a Node or after the server has left, and else what look says.
func (r reporter) remoteOf(m *clusterv1.Machine, seen model.Machine, kind string, look func() metav1.Condition) metav1.Condition {
	switch {
	case leftAlready(r.Snapshot, seen):
		return unknown(kind, controlplanev1.MachineDeletingReason, "The Machine is being deleted and is no server any more")
	case seen.NodeName == "":
		return unknown(kind, controlplanev1.InspectionFailedReason, "Waiting for the Machine's Node")
	case r.inTouch():
		return look()
	case r.keepsLast():
		if last, ok := find(m.Status.Conditions, kind); ok {
			return last
		}
	}
	c, _ := r.remote(kind)
	if c.Reason == controlplanev1.ConnectionDownReason {
		return c
	}
	return unknown(kind, controlplanev1.InspectionFailedReason, "The workload cluster has not been looked at yet")
}

func pod(m model.Machine, component, kind string) metav1.Condition {
	switch fact := m.Components[component]; {
	case !fact.Known:
		return unknown(kind, controlplanev1.InspectionFailedReason, fact.Reason)
	case fact.Value:
		return yes(kind, controlplanev1.MachinePodRunningReason, "")
	case strings.HasSuffix(fact.Reason, "does not exist"):
		return no(kind, controlplanev1.MachinePodDoesNotExistReason, fact.Reason)
	case strings.HasSuffix(fact.Reason, "is starting"):
		return no(kind, controlplanev1.MachinePodProvisioningReason, fact.Reason)
	default:
		return no(kind, controlplanev1.MachinePodFailedReason, fact.Reason)
	}
}

func (r reporter) member(m model.Machine) metav1.Condition {
	const kind = controlplanev1.MachineEtcdMemberHealthyCondition
	members := r.Snapshot.Etcd.Members
	if !members.Known {
		return unknown(kind, controlplanev1.InspectionFailedReason, "etcd's member list could not be read: "+members.Reason)
	}
	member, listed := r.Snapshot.MemberOf(m.Name)
	if !listed {
		return no(kind, controlplanev1.NotHealthyReason, "etcd lists no member for the Machine")
	}
	switch trouble, sure := memberTrouble(member); {
	case trouble == "":
		return yes(kind, controlplanev1.HealthyReason, "")
	case sure:
		return no(kind, controlplanev1.NotHealthyReason, trouble)
	default:
		return unknown(kind, controlplanev1.InspectionFailedReason, trouble)
	}
}

// upToDate tells whether the Machine is as wanted, and its node as the Machine.
// A node that runs another release was changed by hand, or is still coming up.
func upToDate(m *clusterv1.Machine, seen model.Machine) metav1.Condition {
	const kind = controlplanev1.MachineUpToDateCondition
	reasons := slices.Clone(seen.Outdated)
	if runs := versionOf(m); compareVersions(runs, m.Spec.Version) != 0 {
		reasons = append(reasons, fmt.Sprintf("the node runs %s, the Machine's version is %s", runs, m.Spec.Version))
	}
	if len(reasons) == 0 {
		return yes(kind, controlplanev1.UpToDateReason, "")
	}
	return no(kind, controlplanev1.NotUpToDateReason, list(reasons))
}
