package v1beta2

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// Condition types of an RKE2ControlPlane. Where Cluster API has a name for one it is used, also for the reasons.
const (
	// AvailableCondition is true when the control plane can serve requests and etcd has quorum to spare for it.
	AvailableCondition = clusterv1.AvailableCondition
	// InitializedCondition is true once the first server came up.
	InitializedCondition = "Initialized"
	// CertificatesAvailableCondition is true when the cluster's certificate authorities exist.
	CertificatesAvailableCondition = "CertificatesAvailable"
	// EtcdClusterHealthyCondition is true when every etcd member is a started, healthy voter with a Machine.
	EtcdClusterHealthyCondition = "EtcdClusterHealthy"
	// ControlPlaneComponentsHealthyCondition is true when the component pods of every server are healthy.
	ControlPlaneComponentsHealthyCondition = "ControlPlaneComponentsHealthy"
	// MachinesReadyCondition sums up the Machines' Ready conditions.
	MachinesReadyCondition = clusterv1.MachinesReadyCondition
	// MachinesUpToDateCondition sums up the Machines' UpToDate conditions.
	MachinesUpToDateCondition = clusterv1.MachinesUpToDateCondition
	// RollingOutCondition is true while Machines are out of date; the message says what differs.
	RollingOutCondition = clusterv1.RollingOutCondition
	// ScalingUpCondition is true while there are fewer servers than wanted.
	ScalingUpCondition = clusterv1.ScalingUpCondition
	// ScalingDownCondition is true while there are more servers than wanted.
	ScalingDownCondition = clusterv1.ScalingDownCondition
	// RemediatingCondition is true while an unhealthy server is being replaced.
	RemediatingCondition = clusterv1.RemediatingCondition
	// DeletingCondition is true while the control plane is being deleted; the message names what is left.
	DeletingCondition = clusterv1.DeletingCondition
	// PausedCondition is true while the control plane or its Cluster is paused.
	PausedCondition = clusterv1.PausedCondition
)

// Reasons of an RKE2ControlPlane's conditions.
const (
	// AvailableReason is the reason of Available when true.
	AvailableReason = clusterv1.AvailableReason
	// NotAvailableReason is the reason of Available and CertificatesAvailable when false.
	NotAvailableReason = clusterv1.NotAvailableReason
	// WaitingForRKE2ServerReason says that no server has come up yet.
	WaitingForRKE2ServerReason = "WaitingForRKE2Server"
	// InitializedReason is the reason of Initialized when true.
	InitializedReason = "Initialized"
	// NotInitializedReason is the reason of Initialized when false.
	NotInitializedReason = "NotInitialized"
	// HealthyReason is the reason of EtcdClusterHealthy and ControlPlaneComponentsHealthy when true.
	HealthyReason = "Healthy"
	// NotHealthyReason is the reason of those two when false.
	NotHealthyReason = "NotHealthy"
	// HealthUnknownReason is the reason of those two when parts could not be looked at.
	HealthUnknownReason = "HealthUnknown"
	// InspectionFailedReason says that looking failed.
	InspectionFailedReason = clusterv1.InspectionFailedReason
	// ConnectionDownReason says that the workload cluster cannot be reached.
	ConnectionDownReason = clusterv1.ConnectionDownReason
	// ReadyReason is the reason of MachinesReady when true.
	ReadyReason = clusterv1.ReadyReason
	// NotReadyReason is the reason of MachinesReady when false.
	NotReadyReason = clusterv1.NotReadyReason
	// ReadyUnknownReason is the reason of MachinesReady when unknown.
	ReadyUnknownReason = clusterv1.ReadyUnknownReason
	// UpToDateReason is the reason of MachinesUpToDate when true.
	UpToDateReason = clusterv1.UpToDateReason
	// NotUpToDateReason is the reason of MachinesUpToDate when false.
	NotUpToDateReason = clusterv1.NotUpToDateReason
	// UpToDateUnknownReason is the reason of MachinesUpToDate when unknown.
	UpToDateUnknownReason = clusterv1.UpToDateUnknownReason
	// NoReplicasReason says that there is no Machine.
	NoReplicasReason = clusterv1.NoReplicasReason
	// RollingOutReason is the reason of RollingOut when true.
	RollingOutReason = clusterv1.RollingOutReason
	// NotRollingOutReason is the reason of RollingOut when false.
	NotRollingOutReason = clusterv1.NotRollingOutReason
	// ScalingUpReason is the reason of ScalingUp when true.
	ScalingUpReason = clusterv1.ScalingUpReason
	// NotScalingUpReason is the reason of ScalingUp when false.
	NotScalingUpReason = clusterv1.NotScalingUpReason
	// ScalingDownReason is the reason of ScalingDown when true.
	ScalingDownReason = clusterv1.ScalingDownReason
	// NotScalingDownReason is the reason of ScalingDown when false.
	NotScalingDownReason = clusterv1.NotScalingDownReason
	// WaitingForReplicasSetReason is the reason of ScalingUp and ScalingDown before status.replicas is known.
	WaitingForReplicasSetReason = clusterv1.WaitingForReplicasSetReason
	// RemediatingReason is the reason of Remediating when true.
	RemediatingReason = clusterv1.RemediatingReason
	// NotRemediatingReason is the reason of Remediating when false.
	NotRemediatingReason = clusterv1.NotRemediatingReason
	// NotDeletingReason is the reason of Deleting when false.
	NotDeletingReason = clusterv1.NotDeletingReason
	// WaitingForWorkersDeletionReason says that deletion waits for Machines that are no servers.
	WaitingForWorkersDeletionReason = "WaitingForWorkersDeletion"
	// WaitingForMachineDeletionReason says that deletion waits for the servers' Machines.
	WaitingForMachineDeletionReason = "WaitingForMachineDeletion"
	// DeletionCompletedReason says that nothing is left.
	DeletionCompletedReason = clusterv1.DeletionCompletedReason
	// InternalErrorReason says that an operation failed; the message says which.
	InternalErrorReason = clusterv1.InternalErrorReason
)
