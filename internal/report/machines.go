package report

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/version"
)

// counters sets the numbers and versions of the status.
func (r reporter) counters(status *controlplanev1.RKE2ControlPlaneStatus) {
	count := func(kind string) *int32 {
		n := 0
		for _, m := range r.machines {
			if is(m.Status.Conditions, kind, metav1.ConditionTrue) {
				n++
			}
		}
		return ptr.To(int32(n))
	}
	status.Replicas = ptr.To(int32(len(r.machines)))
	status.ReadyReplicas = count(clusterv1.MachineReadyCondition)
	status.AvailableReplicas = count(clusterv1.MachineAvailableCondition)
	status.UpToDateReplicas = count(clusterv1.MachineUpToDateCondition)
	status.Versions = versions(r.machines)
	status.Version = ""
	if len(status.Versions) > 0 {
		status.Version = status.Versions[0].Version
	}
}

// maxVersions is what the schema and Cluster API allow.
const maxVersions = 100

// versions counts the Machines of each release, the lowest release first.
func versions(machines []*clusterv1.Machine) []clusterv1.StatusVersion {
	counts := map[string]int32{}
	for _, m := range machines {
		if v := versionOf(m); v != "" {
			counts[v]++
		}
	}
	var out []clusterv1.StatusVersion
	for v, n := range counts {
		out = append(out, clusterv1.StatusVersion{Version: v, Replicas: n})
	}
	slices.SortFunc(out, func(a, b clusterv1.StatusVersion) int { return compareVersions(a.Version, b.Version) })
	if len(out) > maxVersions {
		out = out[:maxVersions]
	}
	return out
}

// versionOf prefers what the node reports to what was asked for.
func versionOf(m *clusterv1.Machine) string {
	if info := m.Status.NodeInfo; info != nil {
		if v, err := version.Parse(info.KubeletVersion); err == nil {
			return v.String()
		}
	}
	return m.Spec.Version
}

// compareVersions orders releases, and before them what is no release.
func compareVersions(a, b string) int {
	left, errLeft := version.Parse(a)
	right, errRight := version.Parse(b)
	switch {
	case errLeft != nil && errRight != nil:
		return compare(a, b)
	case errLeft != nil:
		return -1
	case errRight != nil:
		return 1
	default:
		return left.Compare(right)
	}
}

func selector(cluster string) string {
	return collections.ControlPlaneSelectorForCluster(cluster).String()
}

func (r reporter) machinesReady() metav1.Condition {
	return r.summary(clusterv1.MachineReadyCondition, controlplanev1.MachinesReadyCondition,
		controlplanev1.NotReadyReason, controlplanev1.ReadyUnknownReason, controlplanev1.ReadyReason)
}

func (r reporter) machinesUpToDate() metav1.Condition {
	return r.summary(clusterv1.MachineUpToDateCondition, controlplanev1.MachinesUpToDateCondition,
		controlplanev1.NotUpToDateReason, controlplanev1.UpToDateUnknownReason, controlplanev1.UpToDateReason)
}

// summary merges one condition of all Machines the way Cluster API does.
func (r reporter) summary(of, kind, notReason, unknownReason, reason string) metav1.Condition {
	if len(r.machines) == 0 {
		return yes(kind, controlplanev1.NoReplicasReason, "")
	}
	c, err := conditions.NewAggregateCondition(r.machines, of,
		conditions.TargetConditionType(kind),
		conditions.CustomMergeStrategy{MergeStrategy: conditions.DefaultMergeStrategy(
			conditions.ComputeReasonFunc(conditions.GetDefaultComputeMergeReasonFunc(notReason, unknownReason, reason)),
		)},
	)
	if err != nil {
		return unknown(kind, controlplanev1.InternalErrorReason, err.Error())
	}
	return *c
}

// serverAddresses are the addresses that nodes can join through. Where they
// are those of servers, only servers count that are alive and stay.
func (r reporter) serverAddresses() []string {
	switch method := r.ControlPlane.Spec.RegistrationMethodOrDefault(); method {
	case controlplanev1.RegistrationControlPlaneEndpoint:
		return one(r.Cluster.Spec.ControlPlaneEndpoint.Host)
	case controlplanev1.RegistrationAddress:
		return one(r.ControlPlane.Spec.RegistrationAddress)
	default:
		return r.machineAddresses(method)
	}
}

func one(address string) []string {
	if address == "" {
		return nil
	}
	return []string{address}
}

// machineAddresses takes one address of each server. Servers that are to go come
// last, the next one at the very end: who joins should find the server for as
// long as it can be had. Else the oldest comes first, so that the order is
// stable while servers come and go.
func (r reporter) machineAddresses(method controlplanev1.RegistrationMethod) []string {
	if r.initialized() && !r.inTouch() {
		// Who can't be seen may still serve. An empty list would keep nodes
		// from joining that could.
		return r.ControlPlane.Status.AvailableServerIPs
	}
	machines := slices.Clone(r.Machines)
	slices.SortStableFunc(machines, func(a, b *clusterv1.Machine) int {
		return cmp.Or(cmp.Compare(r.goesIn(a.Name), r.goesIn(b.Name)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	var out []string
	for _, m := range machines {
		if address := AddressFor(m, method); r.accepts(m.Name) && address != "" && !slices.Contains(out, address) {
			out = append(out, address)
		}
	}
	return out
}

// goesIn is how soon a server is to go: 0 when it stays, larger the sooner.
func (r reporter) goesIn(machine string) int {
	i := slices.Index(r.Order, machine)
	if i < 0 {
		return 0
	}
	return len(r.Order) - i
}

// accepts tells whether a server is known to take in others.
func (r reporter) accepts(machine string) bool {
	m, ok := r.Snapshot.MachineByName(machine)
	if !ok || m.Deleting || !m.Alive() {
		return false
	}
	if r.Snapshot.ControlPlane.ExternalDatastore {
		return true
	}
	member, listed := r.Snapshot.MemberOf(machine)
	return listed && member.HealthyVoter()
}

// AddressFor is the address of a server that the method selects, empty when it
// has none.
func AddressFor(m *clusterv1.Machine, method controlplanev1.RegistrationMethod) string {
	internal := addressOf(m, clusterv1.MachineInternalIP)
	external := addressOf(m, clusterv1.MachineExternalIP)
	switch {
	case method == controlplanev1.RegistrationInternalOnlyIPs:
		return internal
	case method == controlplanev1.RegistrationExternalOnlyIPs:
		return external
	case internal != "":
		return internal
	default:
		return external
	}
}

func addressOf(m *clusterv1.Machine, kind clusterv1.MachineAddressType) string {
	for _, a := range m.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return ""
}
