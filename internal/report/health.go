package report

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

func (r reporter) initializedCondition() metav1.Condition {
	const kind = controlplanev1.InitializedCondition
	if r.initialized() {
		return yes(kind, controlplanev1.InitializedReason, "")
	}
	return no(kind, controlplanev1.NotInitializedReason, "No server has come up yet")
}

func (r reporter) certificates() metav1.Condition {
	const kind = controlplanev1.CertificatesAvailableCondition
	switch fact := r.Snapshot.Cluster.Certificates; {
	case !fact.Known:
		return unknown(kind, controlplanev1.InternalErrorReason, fact.Reason)
	case !fact.Value:
		return no(kind, controlplanev1.NotAvailableReason, r.Snapshot.Cluster.CertificateProblem)
	default:
		return yes(kind, controlplanev1.AvailableReason, "")
	}
}

// remote is what every condition about the workload cluster says when there
// is nothing to see. The second result is false when there is.
func (r reporter) remote(kind string) (metav1.Condition, bool) {
	switch {
	case r.inTouch():
		return metav1.Condition{}, false
	case r.keepsLast():
		if last, ok := r.last(kind); ok {
			return last, true
		}
		return unknown(kind, controlplanev1.HealthUnknownReason, "The workload cluster has not been looked at yet"), true
	case !r.initialized():
		return unknown(kind, controlplanev1.WaitingForRKE2ServerReason, "Waiting for the first server to come up"), true
	case r.LastContact.IsZero():
		return unknown(kind, controlplanev1.ConnectionDownReason, "The workload cluster can't be reached"), true
	default:
		return unknown(kind, controlplanev1.ConnectionDownReason,
			"The workload cluster can't be reached since "+r.LastContact.UTC().Format("15:04:05 UTC")), true
	}
}

// etcd is about the members as etcd itself lists them.
func (r reporter) etcd() metav1.Condition {
	const kind = controlplanev1.EtcdClusterHealthyCondition
	if c, ok := r.remote(kind); ok {
		return c
	}
	members := r.Snapshot.Etcd.Members
	if !members.Known {
		return unknown(kind, controlplanev1.InspectionFailedReason, "etcd's member list could not be read: "+members.Reason)
	}
	var broken, unclear []string
	for _, m := range members.Value {
		trouble, sure := memberTrouble(m)
		switch {
		case trouble == "":
		case sure:
			broken = append(broken, trouble)
		default:
			unclear = append(unclear, trouble)
		}
	}
	for _, m := range r.Snapshot.Machines {
		if _, listed := r.Snapshot.MemberOf(m.Name); !listed && m.NodeName != "" && !m.Deleting {
			broken = append(broken, fmt.Sprintf("Machine %s has no etcd member", m.Name))
		}
	}
	if len(members.Value) == 0 {
		return no(kind, controlplanev1.NotHealthyReason, "etcd lists no members")
	}
	return healthOf(kind, broken, unclear)
}

// healthOf sums up troubles: one that is sure makes the condition False, one
// that is not sure Unknown.
func healthOf(kind string, broken, unclear []string) metav1.Condition {
	switch all := list(append(broken, unclear...)); {
	case len(broken) > 0:
		return no(kind, controlplanev1.NotHealthyReason, all)
	case len(unclear) > 0:
		return unknown(kind, controlplanev1.HealthUnknownReason, all)
	default:
		return yes(kind, controlplanev1.HealthyReason, "")
	}
}

// memberTrouble says what keeps a member from being a healthy voter with a
// Machine, and whether that is known for sure. Empty means nothing.
func memberTrouble(m model.Member) (trouble string, sure bool) {
	name := "Member " + m.Label()
	if m.Started() && m.Learner {
		return name + " is a learner and not a voter yet", true
	}
	if what, sure := m.Trouble(); what != "" {
		return name + " " + what, sure
	}
	if m.Machine == "" {
		return name + " belongs to no Machine", true
	}
	return "", true
}

// components sums up the static pods of the servers.
func (r reporter) components() metav1.Condition {
	const kind = controlplanev1.ControlPlaneComponentsHealthyCondition
	if c, ok := r.remote(kind); ok {
		return c
	}
	var broken, unclear []string
	seen := 0
	for _, m := range r.Snapshot.Machines {
		if m.NodeName == "" || leftAlready(r.Snapshot, m) {
			continue
		}
		seen++
		b, u := componentTroubles(m)
		broken, unclear = append(broken, b...), append(unclear, u...)
	}
	if seen == 0 {
		return unknown(kind, controlplanev1.HealthUnknownReason, "No Machine has a Node yet")
	}
	return healthOf(kind, broken, unclear)
}

func componentTroubles(m model.Machine) (broken, unclear []string) {
	for _, name := range slices.Sorted(maps.Keys(m.Components)) {
		switch fact := m.Components[name]; {
		case !fact.Known:
			unclear = append(unclear, fmt.Sprintf("Machine %s: %s: %s", m.Name, name, fact.Reason))
		case !fact.Value:
			broken = append(broken, fmt.Sprintf("Machine %s: %s: %s", m.Name, name, fact.Reason))
		}
	}
	return broken, unclear
}

// leftAlready tells whether a Machine is no server any more: its member is
// out, or core is past all hooks. What runs on it says nothing from then on.
func leftAlready(s model.Snapshot, m model.Machine) bool {
	if !m.Deleting {
		return false
	}
	if m.Phase.PastHooks() {
		return true
	}
	_, listed := s.MemberOf(m.Name)
	return !s.ControlPlane.ExternalDatastore && s.Etcd.Members.Known && !listed
}

// healthyServer tells whether a Machine is known to serve the Kubernetes API:
// its components work, and the etcd member its API server talks to.
func (r reporter) healthyServer(m model.Machine) (healthy, known bool) {
	if m.NodeName == "" || leftAlready(r.Snapshot, m) {
		return false, true
	}
	broken, unclear := componentTroubles(m)
	if len(broken) > 0 {
		return false, true
	}
	if !r.Snapshot.ControlPlane.ExternalDatastore {
		if !r.Snapshot.Etcd.Members.Known {
			return false, false
		}
		member, listed := r.Snapshot.MemberOf(m.Name)
		switch {
		case !listed, member.Answers.Known && !member.Healthy():
			return false, true
		case !member.Answers.Known:
			return false, false
		}
	}
	return len(unclear) == 0, len(unclear) == 0
}

// available says whether the control plane can serve: it is initialized, has
// its certificates, etcd can agree on writes, and a server is healthy.
func (r reporter) available(others []metav1.Condition) metav1.Condition {
	const kind = controlplanev1.AvailableCondition
	switch {
	case r.Snapshot.ControlPlane.Deleting:
		return no(kind, controlplanev1.NotAvailableReason, "The control plane is being deleted")
	case !r.initialized():
		return no(kind, controlplanev1.WaitingForRKE2ServerReason, "Waiting for the first server to come up")
	}
	if c, ok := r.remote(kind); ok {
		return c
	}
	missing, unclear := r.quorumTrouble()
	if c, _ := find(others, controlplanev1.CertificatesAvailableCondition); c.Status == metav1.ConditionFalse {
		missing = append(missing, "Certificates are not available: "+c.Message)
	} else if c.Status == metav1.ConditionUnknown {
		unclear = append(unclear, "Certificates could not be looked at: "+c.Message)
	}
	healthy, unsure := 0, 0
	for _, m := range r.Snapshot.Machines {
		switch ok, known := r.healthyServer(m); {
		case ok:
			healthy++
		case !known:
			unsure++
		}
	}
	switch {
	case healthy == 0 && unsure == 0:
		missing = append(missing, "No Machine has healthy control plane components, 1 is needed")
	case healthy == 0:
		unclear = append(unclear, "No Machine is known to have healthy control plane components, 1 is needed")
	}
	switch {
	case len(missing) > 0:
		return no(kind, controlplanev1.NotAvailableReason, list(append(missing, unclear...)))
	case len(unclear) > 0:
		return unknown(kind, controlplanev1.InspectionFailedReason, list(unclear))
	default:
		return yes(kind, controlplanev1.AvailableReason, "")
	}
}

// quorumTrouble says what is missing, or not known, for etcd to agree on
// writes. A member that could not be asked may work.
func (r reporter) quorumTrouble() (missing, unclear []string) {
	if r.Snapshot.ControlPlane.ExternalDatastore {
		return nil, nil
	}
	members := r.Snapshot.Etcd.Members
	if !members.Known {
		return nil, []string{"etcd's member list could not be read: " + members.Reason}
	}
	verdict := quorum.Has(members.Value)
	if verdict.OK {
		return nil, nil
	}
	unasked := 0
	for _, m := range quorum.Voters(members.Value) {
		if !m.Answers.Known {
			unasked++
		}
	}
	voters := len(quorum.Voters(members.Value))
	if len(quorum.HealthyVoters(members.Value))+unasked >= quorum.Size(voters) && voters > 0 {
		return nil, []string{"etcd: " + verdict.Why}
	}
	return []string{"etcd has no quorum: " + verdict.Why}, nil
}
