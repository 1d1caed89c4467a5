package controlplane

// Sentences of rules that the CustomResourceDefinition of v1beta2 has too, in
// the same words. They are needed here as well: a request in another version is
// checked against the schema of that version alone.
const (
	versionRequired             = "version is required: set it to the RKE2 release of the servers, for example v1.36.3+rke2r1"
	replicasTooFew              = "replicas must be at least 1: a control plane with no server has no etcd and cannot come back; delete the Cluster to remove it"
	infrastructureRefRequired   = "machineTemplate.spec.infrastructureRef is required: name the infrastructure machine template (apiGroup, kind, name) the servers are made from"
	maxSurgeNoInteger           = "maxSurge must be the integer 0 or 1: percentages and other text are refused, because an etcd cluster grows by one member at a time"
	maxSurgeOutOfRange          = "maxSurge must be 0 or 1: an etcd cluster grows by one member at a time"
	maxSurgeNeedsServers        = "maxSurge 0 needs replicas of at least 3: a server is removed before its replacement exists, and fewer would lose etcd's quorum; set maxSurge to 1 or raise replicas"
	multusWithoutCNI            = "cniMultusEnable needs cni: Multus only adds networks to another CNI; set serverConfig.cni to the CNI it should use"
	rolloutTypeUnknown          = "the type of a rollout must be RollingUpdate, the only one there is: set it or leave it out"
	registrationAddressRequired = "registrationAddress is required with registrationMethod address: set it to the host name or address nodes join through"
)
