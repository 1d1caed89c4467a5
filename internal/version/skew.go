package version

// IsDowngrade tells whether going from one release to the other leads back to an earlier Kubernetes version. An
// earlier rke2rN or a pre-release of the same Kubernetes version is no downgrade: Kubernetes and etcd data stay valid.
// RKE2 supports a downgrade only by restoring a snapshot.
func IsDowngrade(from, to Version) bool {
	from.Pre, from.Release = "", 0
	to.Pre, to.Release = "", 0
	return to.Compare(from) < 0
}

// SkipsMinor tells whether going from one release to the other leaves out a minor version, which Kubernetes does not
// support for servers and against which RKE2 itself does not protect. A new major version counts as a skip, because
// what it follows on is not known.
func SkipsMinor(from, to Version) bool {
	if to.Major != from.Major {
		return to.Major > from.Major
	}
	return to.Minor > from.Minor+1
}

// MaxAgentSkew is how many minor versions an agent may be older than the servers (Kubernetes' version skew policy
// for the kubelet, from 1.28 on).
const MaxAgentSkew = 3

// AgentAllowed tells whether an agent of one release may join servers of another: never a newer minor version than
// the servers', and at most MaxAgentSkew minor versions older.
func AgentAllowed(agent, servers Version) bool {
	if agent.Major != servers.Major {
		return false
	}
	older := servers.Minor - agent.Minor
	return older >= 0 && older <= MaxAgentSkew
}
