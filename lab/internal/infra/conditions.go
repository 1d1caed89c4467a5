package infra

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	labv1 "github.com/drover-project/drover/lab/api/v1beta2"
	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/machine"
)

func isNotFound(err error) bool { return apierrors.IsNotFound(err) }

// setWaiting says why there is no running machine.
func setWaiting(object *labv1.LabMachine, reason, message string) {
	if object.Status.InstanceState == "" {
		object.Status.InstanceState = labv1.InstancePending
	}
	conditions.Set(object, metav1.Condition{
		Type: labv1.InstanceRunningCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message,
	})
}

// bootDelay returns how much of spec.bootDelay is left.
func bootDelay(object *labv1.LabMachine) time.Duration {
	if c := conditions.Get(object, labv1.InstanceRunningCondition); c != nil && c.Reason == labv1.ReportDelayedReason {
		return 0 // it has booted
	}
	return remainingDelay(object, object.Spec.BootDelay.Duration, labv1.BootDelayedReason)
}

// reportDelay returns how much of spec.reportDelay is left.
func reportDelay(object *labv1.LabMachine) time.Duration {
	return remainingDelay(object, object.Spec.ReportDelay.Duration, labv1.ReportDelayedReason)
}

// remainingDelay returns how much of a delay is left. It counts from the moment
// from which on nothing else stood in the way, and the reason says so.
func remainingDelay(object *labv1.LabMachine, delay time.Duration, reason string) time.Duration {
	if delay <= 0 {
		return 0
	}
	c := conditions.Get(object, labv1.InstanceRunningCondition)
	if c == nil || c.Reason != reason {
		return delay
	}
	return delay - time.Since(c.LastTransitionTime.Time)
}

// observe copies what is known of the machine into the status.
func (r *machineReconciler) observe(object *labv1.LabMachine) {
	info, found := r.machines.Get(object.Name)
	known, owned := r.registry.ownerOf(object.Name)
	if !found || !owned || known.uid != object.UID {
		object.Status.InstanceState = labv1.InstanceTerminated
		setInstance(object, metav1.ConditionFalse, labv1.TerminatedReason, "The machine does not exist any more")
		return
	}
	object.Status.FailureDomain = info.FailureDomain
	object.Status.Addresses = []clusterv1.MachineAddress{
		{Type: clusterv1.MachineInternalIP, Address: info.IP.String()},
		{Type: clusterv1.MachineHostName, Address: info.Hostname},
	}
	observeInstance(object, info)
	observeUserData(object, info.Boot)
	observeBootstrap(object, info)
}

func observeInstance(object *labv1.LabMachine, info machine.Info) {
	switch info.State {
	case machine.Starting:
		object.Status.InstanceState = labv1.InstancePending
		setInstance(object, metav1.ConditionFalse, labv1.StartingReason, "")
	case machine.Failed:
		object.Status.InstanceState = labv1.InstanceFailed
		setInstance(object, metav1.ConditionFalse, labv1.BootFailedReason, info.Reason)
	case machine.Terminated:
		object.Status.InstanceState = labv1.InstanceTerminated
		setInstance(object, metav1.ConditionFalse, labv1.TerminatedReason, "The machine has ended: "+info.Reason)
	case machine.Running:
		object.Status.Initialization.Provisioned = ptr.To(true)
		object.Status.InstanceState = runningState(info)
		setInstance(object, metav1.ConditionTrue, labv1.RunningReason, "")
	}
}

// runningState tells more than the condition does: a cloud does not notice that
// a machine hangs or is cut off.
func runningState(info machine.Info) labv1.InstanceState {
	switch {
	case info.Frozen:
		return labv1.InstanceFrozen
	case info.Cut:
		return labv1.InstanceCutOff
	}
	return labv1.InstanceRunning
}

func setInstance(object *labv1.LabMachine, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(object, metav1.Condition{Type: labv1.InstanceRunningCondition, Status: status, Reason: reason, Message: message})
}

func observeUserData(object *labv1.LabMachine, boot guest.BootResult) {
	c := metav1.Condition{Type: labv1.UserDataSucceededCondition, Message: boot.Message}
	switch boot.State {
	case guest.BootSucceeded:
		c.Status, c.Reason = metav1.ConditionTrue, labv1.UserDataSucceededReason
	case guest.BootFailed:
		c.Status, c.Reason = metav1.ConditionFalse, labv1.UserDataFailedReason
	default:
		c.Status, c.Reason = metav1.ConditionUnknown, labv1.UserDataRunningReason
	}
	conditions.Set(object, c)
}

// observeBootstrap tells what the bootstrap said of itself. User data that failed
// before it could say anything are a failed bootstrap, too. Where both are silent
// the bootstrap data are of somebody who leaves no word.
func observeBootstrap(object *labv1.LabMachine, info machine.Info) {
	c := metav1.Condition{Type: labv1.BootstrapExecSucceededCondition}
	switch {
	case info.Bootstrap.State == guest.BootSucceeded:
		c.Status, c.Reason = metav1.ConditionTrue, labv1.BootstrapSucceededReason
	case info.Bootstrap.State == guest.BootFailed:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, labv1.BootstrapFailedReason, info.Bootstrap.Message
	case info.Boot.State == guest.BootFailed:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, labv1.BootstrapFailedReason, info.Boot.Message
	default:
		c.Status, c.Reason = metav1.ConditionUnknown, labv1.BootstrapRunningReason
	}
	conditions.Set(object, c)
}

// setReady mirrors the instance's condition: Cluster API shows it on the Machine.
func setReady(object *labv1.LabMachine) {
	c := conditions.Get(object, labv1.InstanceRunningCondition)
	if c == nil {
		return
	}
	conditions.Set(object, metav1.Condition{Type: clusterv1.ReadyCondition, Status: c.Status, Reason: c.Reason, Message: c.Message})
}
