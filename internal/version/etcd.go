package version

import (
	"fmt"
	"slices"
)

// Etcd is the line of etcd inside an RKE2 release, as far as it is known.
type Etcd int

const (
	// EtcdUnknown means no fact about the release is at hand. It is an answer, not a failure.
	EtcdUnknown Etcd = iota
	// Etcd35Early is etcd 3.5 before 3.5.26. A cluster of such members must not meet a 3.6 member: removed members may
	// come back as zombies.
	Etcd35Early
	// Etcd35Late is etcd 3.5.26 or later 3.5, the required stop on the way to 3.6.
	Etcd35Late
	// Etcd36 is etcd 3.6.
	Etcd36
)

// String names the line of etcd, for messages.
func (e Etcd) String() string {
	switch e {
	case Etcd35Early:
		return "3.5 before 3.5.26"
	case Etcd35Late:
		return "3.5.26"
	case Etcd36:
		return "3.6"
	default:
		return "unknown"
	}
}

// etcdStep says which etcd the releases of a minor version have from one release on.
type etcdStep struct {
	since Version
	etcd  Etcd
}

// etcdSteps are the known changes, per minor version, in ascending order. Source: RKE2's release notes. The re-spins
// v1.32.11+rke2r2 and v1.33.7+rke2r2 are not known.
var etcdSteps = map[int][]etcdStep{
	32: {
		{Version{Major: 1, Minor: 32, Patch: 0, Release: 1}, Etcd35Early},
		{Version{Major: 1, Minor: 32, Patch: 11, Release: 2}, EtcdUnknown},
		{Version{Major: 1, Minor: 32, Patch: 11, Release: 3}, Etcd35Late},
		{Version{Major: 1, Minor: 32, Patch: 12, Release: 0}, EtcdUnknown},
	},
	33: {
		{Version{Major: 1, Minor: 33, Patch: 0, Release: 1}, Etcd35Early},
		{Version{Major: 1, Minor: 33, Patch: 7, Release: 2}, EtcdUnknown},
		{Version{Major: 1, Minor: 33, Patch: 7, Release: 3}, Etcd35Late},
		{Version{Major: 1, Minor: 33, Patch: 10, Release: 4}, EtcdUnknown},
		{Version{Major: 1, Minor: 33, Patch: 11, Release: 0}, Etcd36},
	},
	34: {{Version{Major: 1, Minor: 34, Patch: 0, Release: 0}, Etcd36}},
	35: {{Version{Major: 1, Minor: 35, Patch: 0, Release: 0}, Etcd36}},
	36: {{Version{Major: 1, Minor: 36, Patch: 0, Release: 0}, Etcd36}},
}

// EtcdIn returns the line of etcd inside a release, EtcdUnknown where no fact is at hand (releases before 1.32, after
// 1.36, and pre-releases).
func EtcdIn(v Version) Etcd {
	if v.Major != 1 || v.Pre != "" {
		return EtcdUnknown
	}
	known := EtcdUnknown
	for _, step := range etcdSteps[v.Minor] {
		if v.Compare(step.since) < 0 {
			break
		}
		known = step.etcd
	}
	return known
}

// RiskyEtcdStep tells whether going from one release to the other would lead straight from an etcd before 3.5.26 to
// etcd 3.6. An unknown side gives false: a rule that refuses needs a fact.
func RiskyEtcdStep(from, to Version) bool {
	return EtcdIn(from) == Etcd35Early && EtcdIn(to) == Etcd36
}

// EtcdBridge names the release to go to, from the given one, before any with etcd 3.6: the first of its minor version, or
// else of 1.32, with etcd 3.5.26.
func EtcdBridge(from Version) string {
	minor := from.Minor
	if from.Major != 1 || !bridged(minor) {
		minor = oldestBridged
	}
	steps := etcdSteps[minor]
	return steps[slices.IndexFunc(steps, late)].since.String()
}

// oldestBridged is the first minor version that has a release with etcd 3.5.26.
const oldestBridged = 32

func late(step etcdStep) bool { return step.etcd == Etcd35Late }

func bridged(minor int) bool { return slices.ContainsFunc(etcdSteps[minor], late) }

// EtcdBefore3526 tells whether a version of etcd itself, as a member reports it, is a 3.5 before 3.5.26 or older. A
// text that is no version gives false: a rule that refuses needs a fact.
func EtcdBefore3526(etcd string) bool {
	var major, minor, patch int
	if n, err := fmt.Sscanf(etcd, "%d.%d.%d", &major, &minor, &patch); n != 3 || err != nil {
		return false
	}
	return slices.Compare([]int{major, minor, patch}, []int{3, 5, 26}) < 0
}
