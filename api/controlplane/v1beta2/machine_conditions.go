package v1beta2

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// Condition types set on the Machine of a server. The pod and member conditions carry KubeadmControlPlane's names,
// which Cluster API groups and sorts in a Machine's Ready message.
const (
	// MachineAPIServerPodHealthyCondition reports the server's kube-apiserver pod.
	MachineAPIServerPodHealthyCondition = "APIServerPodHealthy"
	// MachineControllerManagerPodHealthyCondition reports the server's kube-controller-manager pod.
	MachineControllerManagerPodHealthyCondition = "ControllerManagerPodHealthy"
	// MachineSchedulerPodHealthyCondition reports the server's kube-scheduler pod.
	MachineSchedulerPodHealthyCondition = "SchedulerPodHealthy"
	// MachineEtcdPodHealthyCondition reports the server's etcd pod.
	MachineEtcdPodHealthyCondition = "EtcdPodHealthy"
	// MachineEtcdMemberHealthyCondition reports the server's etcd member as etcd itself sees it.
	MachineEtcdMemberHealthyCondition = "EtcdMemberHealthy"
	// MachineUpToDateCondition reports whether the Machine matches the control plane's spec.
	MachineUpToDateCondition = clusterv1.MachineUpToDateCondition
	// MachineAgentHealthyCondition sums up the pods of a server. Taken-over Machines carry it.
	MachineAgentHealthyCondition = "AgentHealthy"
	// MachineNodeMetadataUpToDateCondition reports whether the wanted annotations are on the Node.
	MachineNodeMetadataUpToDateCondition = "NodeMetadataUpToDate"
)

// Reasons of the Machine conditions. Unlisted reasons are those of the control plane's conditions.
const (
	// MachinePodRunningReason is the reason of a pod condition when true.
	MachinePodRunningReason = "Running"
	// MachinePodProvisioningReason says that the pod is starting.
	MachinePodProvisioningReason = "Provisioning"
	// MachinePodDoesNotExistReason says that there is no such pod.
	MachinePodDoesNotExistReason = "DoesNotExist"
	// MachinePodFailedReason says that the pod runs but not well.
	MachinePodFailedReason = "Failed"
	// MachineDeletingReason says that the Machine is being deleted, so that the state no longer counts.
	MachineDeletingReason = clusterv1.DeletingReason
	// MachineAgentPodFailedReason is the reason of AgentHealthy when false.
	MachineAgentPodFailedReason = "PodFailed"
	// MachineNodePatchFailedReason is the reason of NodeMetadataUpToDate when false.
	MachineNodePatchFailedReason = "NodePatchFailed"
	// MachineCannotBeRemediatedReason says that replacing the Machine will not be tried.
	MachineCannotBeRemediatedReason = "CannotBeRemediated"
	// MachineRemediationDeferredReason says that replacing the Machine has to wait; the message says for what.
	MachineRemediationDeferredReason = "RemediationDeferred"
	// MachineRemediationMachineDeletingReason says that the Machine was deleted to be replaced.
	MachineRemediationMachineDeletingReason = "MachineDeleting"
)

// Event reasons on an RKE2ControlPlane.
const (
	// FailedInitializationEvent reports that creating the first server failed.
	FailedInitializationEvent = "FailedInitialization"
	// FailedScaleUpEvent reports that creating a further server failed.
	FailedScaleUpEvent = "FailedScaleUp"
	// FailedScaleDownEvent reports that removing a server failed.
	FailedScaleDownEvent = "FailedScaleDown"
	// FailedDeleteEvent reports that deleting Machines failed.
	FailedDeleteEvent = "FailedDelete"
	// ControlPlaneUnhealthyEvent reports that a step waits because the control plane is not healthy.
	ControlPlaneUnhealthyEvent = "ControlPlaneUnhealthy"
)
