package v1beta2

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// TurtlesSystemAgentAnnotation marks an RKE2Config into which Rancher Turtles injected files and commands of its
// own. Those parts are no difference between the config and the control plane it was made from.
const TurtlesSystemAgentAnnotation = "cluster-api.cattle.io/turtles-system-agent"

// DataLimitAnnotation sets, on an RKE2Config, how many bytes its bootstrap data may have, compressed, in place of what the
// manager has for the kind of infrastructure. "0" means that the infrastructure sets no limit.
const DataLimitAnnotation = "rke2.bootstrap.cluster.x-k8s.io/data-limit"

// Keys of the bootstrap data Secret.
const (
	// DataSecretValueKey holds the bootstrap data. The name is given by the Cluster API contract.
	DataSecretValueKey = "value"
	// DataSecretFormatKey holds the Format of the data.
	DataSecretFormatKey = "format"
)

// MadeFromAnnotation is on the bootstrap data Secret of a MachinePool and says what the data were made from, so that
// they are made anew when that has changed, and only then. Without it Drover takes the data for those of another
// provider, and as up to date.
const MadeFromAnnotation = "rke2.bootstrap.cluster.x-k8s.io/made-from"

// Condition types and reasons of an RKE2Config. Unlisted reasons are Cluster API's.
const (
	// ReadyCondition sums up DataSecretAvailable, CertificatesAvailable and whether BootstrapSucceeded is false. Cluster
	// API mirrors it into the Machine's BootstrapConfigReady.
	ReadyCondition = clusterv1.ReadyCondition

	// DataSecretAvailableCondition is true once the bootstrap data Secret exists.
	DataSecretAvailableCondition = "DataSecretAvailable"
	// DataSecretAvailableReason says the Secret exists.
	DataSecretAvailableReason = clusterv1.AvailableReason
	// DataSecretNotAvailableReason says the Secret does not exist yet; the message says why.
	DataSecretNotAvailableReason = clusterv1.NotAvailableReason
	// WaitingForClusterInfrastructureReason says the cluster's infrastructure is not provisioned yet.
	WaitingForClusterInfrastructureReason = "WaitingForClusterInfrastructure"
	// WaitingForControlPlaneInitializedReason says a machine waits for the first server to come up.
	WaitingForControlPlaneInitializedReason = clusterv1.WaitingForControlPlaneInitializedReason

	// CertificatesAvailableCondition is true once the certificate authorities the machine needs exist.
	CertificatesAvailableCondition = "CertificatesAvailable"
	// CertificatesAvailableReason says the certificate authorities exist.
	CertificatesAvailableReason = clusterv1.AvailableReason
	// CertificatesNotAvailableReason says a certificate authority is missing; the message names it.
	CertificatesNotAvailableReason = clusterv1.NotAvailableReason

	// BootstrapSucceededCondition says what became of a machine that was given its bootstrap data. It is true when the
	// Machine has its Node, and false when it is known that the bootstrap failed.
	BootstrapSucceededCondition = "BootstrapSucceeded"
	// BootstrapSucceededReason says the Machine has its Node.
	BootstrapSucceededReason = "BootstrapSucceeded"
	// BootstrapFailedReason says the infrastructure reports a failure; the message holds what it says.
	BootstrapFailedReason = "BootstrapFailed"
	// WaitingForNodeReason says the machine has its data and may still be at work.
	WaitingForNodeReason = "WaitingForNode"
	// BootstrapOverdueReason says the Node should be there by now; the message says what was last seen and what to look
	// at.
	BootstrapOverdueReason = "BootstrapOverdue"
)
