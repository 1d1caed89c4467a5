package v1beta2

// Finalizers of an RKE2ControlPlane.
const (
	// RKE2ControlPlaneFinalizer keeps a control plane until its Machines are gone.
	RKE2ControlPlaneFinalizer = "rke2.controlplane.cluster.x-k8s.io"

	// RKE2ControlPlaneLegacyFinalizer is a misspelling old objects may still carry. It is only ever removed.
	RKE2ControlPlaneLegacyFinalizer = "rke2.controleplane.cluster.x-k8s.io"
)

// Annotations of an RKE2ControlPlane.
const (
	// FirstServerByAnnotation records, with the value FirstServerByDrover, that Drover created the first server of the
	// cluster. It is written in the same request that starts creating that server and never changed later. Settings
	// all servers must agree on, and which other providers ignored (the Cluster's serviceDomain), count only when it
	// is there: a control plane without it was taken over, and its servers run without them. It is an annotation and
	// not status because moving a cluster to another management cluster keeps annotations and loses the status.
	FirstServerByAnnotation = "rke2.controlplane.cluster.x-k8s.io/first-server-by"
	// FirstServerByDrover is the value of FirstServerByAnnotation.
	FirstServerByDrover = "drover"

	// InitializedAnnotation, with the value "true", records that the first server of the cluster has come up. The status
	// says the same, but does not survive a move to another management cluster; without this record a running cluster
	// whose API server does not answer at once would look like one that never came up.
	InitializedAnnotation = "rke2.controlplane.cluster.x-k8s.io/initialized"

	// LegacyAnnotation marks a cluster from the time before its etcd certificate authorities were made by the
	// provider. Its etcd members can be asked only once its servers, or a user, have given those authorities.
	LegacyAnnotation = "controlplane.cluster.x-k8s.io/legacy"

	// LoadBalancerExclusionAnnotation, with the value "false", switches off that a server is taken out of external
	// load balancers before it is drained. With the value "true", or without it, this is done.
	LoadBalancerExclusionAnnotation = "rke2.controlplane.cluster.x-k8s.io/load-balancer-exclusion"

	// RemediateSingleServerAnnotation, with the value "true", allows the only server of a control plane to be replaced
	// when a MachineHealthCheck marks it. That is done only where no data can be lost: its etcd member works, or its
	// data are in an external datastore.
	RemediateSingleServerAnnotation = "rke2.controlplane.cluster.x-k8s.io/remediate-single-server"

	// RestartedAtAnnotation holds a time (RFC 3339). Once it has passed, servers made before it are replaced, as with
	// spec.rollout.after. It is for a restart by hand, as kubectl rollout restart does it; Cluster API's command line gave
	// it this name for MachineDeployments.
	RestartedAtAnnotation = "cluster.x-k8s.io/restartedAt"

	// HoldRolloutAnnotation, with any value, keeps servers that are not up to date from being replaced. Its value says
	// why, for people. What would be replaced stands in status.rollout; a replacement that has begun is finished.
	HoldRolloutAnnotation = "rke2.controlplane.cluster.x-k8s.io/hold-rollout"

	// RemediationInProgressAnnotation holds a LastRemediationStatus as JSON from the deletion of an unhealthy server to
	// the creation of its replacement.
	RemediationInProgressAnnotation = "controlplane.cluster.x-k8s.io/remediation-in-progress"
)

// Annotations of a server's Machine.
const (
	// ServerConfigurationAnnotation holds the serverConfig the Machine was made with, as JSON. A Machine whose
	// annotation differs from the spec is out of date; one without it counts as up to date.
	ServerConfigurationAnnotation = "controlplane.cluster.x-k8s.io/rke2-server-configuration"

	// RegistrationAnnotation holds how nodes joined when the Machine was made: a RegistrationMethod and, for the method
	// address, "=" and the address. A Machine whose annotation differs from the spec is out of date. One without it was
	// taken over; it gets the annotation as the spec is when it is first seen.
	RegistrationAnnotation = "rke2.controlplane.cluster.x-k8s.io/registration"

	// MadeByAnnotation names, with the value MadeByDrover, who made the Machine. A Machine without it was taken over:
	// settings that other providers accept and ignore are not in effect on its node.
	MadeByAnnotation = "rke2.controlplane.cluster.x-k8s.io/made-by"
	// MadeByDrover is the value of MadeByAnnotation.
	MadeByDrover = "drover"

	// RemediationForAnnotation holds, on a replacement, the LastRemediationStatus it was made for, as JSON.
	RemediationForAnnotation = "controlplane.cluster.x-k8s.io/remediation-for"

	// PreTerminateHookCleanupAnnotation holds a Machine's deletion after its drain, until its etcd member is removed.
	PreTerminateHookCleanupAnnotation = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/rke2-cleanup"

	// PreDrainHookLoadBalancerExclusionAnnotation holds a Machine's deletion before its drain, until it is its turn to
	// leave and it is out of the load balancers.
	PreDrainHookLoadBalancerExclusionAnnotation = "pre-drain.delete.hook.machine.cluster.x-k8s.io/rke2-lb-exclusion"
)

// Annotations RKE2 reads and writes on a server's Node.
const (
	// EtcdRemoveAnnotation, with the value "true", asks RKE2 to remove the node's etcd member.
	EtcdRemoveAnnotation = "etcd.rke2.cattle.io/remove"
	// EtcdRemovedNodeNameAnnotation holds the name of the removed member once RKE2 has done so.
	EtcdRemovedNodeNameAnnotation = "etcd.rke2.cattle.io/removed-node-name"
	// EtcdNodeNameAnnotation holds the name of the node's etcd member: the node name, a dash, eight hex digits.
	EtcdNodeNameAnnotation = "etcd.rke2.cattle.io/node-name"
	// EtcdNodeAddressAnnotation holds the address of the node's etcd member.
	EtcdNodeAddressAnnotation = "etcd.rke2.cattle.io/node-address"
)

// SSA field managers, kept from the provider a cluster may be taken over from, so that fields it owned stay owned.
const (
	// FieldManager owns what is applied to Machines.
	FieldManager = "rke2controlplane"
	// MetadataFieldManager owns labels and annotations applied to infrastructure machines and RKE2Configs.
	MetadataFieldManager = "rke2controlplane-metadata"
)

// S3ConfigSecretName is the Secret in the namespace kube-system of a workload cluster in which its servers find the
// bucket for snapshots and the credentials, from which they are kept out of the machines' bootstrap data.
const S3ConfigSecretName = "rke2-etcd-snapshot-s3-config"
