package incumbent

import "k8s.io/apimachinery/pkg/runtime/schema"

// The groups of the two kinds, whose names every provider for RKE2 shares.
const (
	controlPlaneGroup = "controlplane.cluster.x-k8s.io"
	bootstrapGroup    = "bootstrap.cluster.x-k8s.io"
)

// The versions in which objects name their owner. A cluster that has lived through several releases has both.
const (
	olderVersion = "v1beta1"
	version      = "v1beta2"
)

var (
	controlPlaneKind = schema.GroupVersionKind{Group: controlPlaneGroup, Version: version, Kind: "RKE2ControlPlane"}
	configKind       = schema.GroupVersionKind{Group: bootstrapGroup, Version: version, Kind: "RKE2Config"}
)

const (
	// finalizer keeps the control plane until its machines are gone.
	finalizer = "rke2.controlplane.cluster.x-k8s.io"
	// serverConfiguration is the annotation of a Machine with the serverConfig that it was made with.
	serverConfiguration = "controlplane.cluster.x-k8s.io/rke2-server-configuration"
	// cleanupHook is the hook in which the member of a deleted server is removed.
	cleanupHook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/rke2-cleanup"
)

// The names under which it writes. Plain requests carry the name of its program.
const (
	plainManager    = "manager"
	machineManager  = "rke2controlplane"
	metadataManager = "rke2controlplane-metadata"
)

// The purposes of the certificate authorities besides those that Cluster API names. They end the Secrets' names.
const (
	clientAuthority = "cca"
	peerAuthority   = "peer-etcd"
)
