package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// mark lets a MachineHealthCheck want a Machine replaced.
func mark(in *Input, i int) *model.Machine {
	in.Machines[i].Status.Conditions = append(in.Machines[i].Status.Conditions,
		metav1.Condition{Type: clusterv1.MachineHealthCheckSucceededCondition, Status: isFalse, Reason: "UnhealthyNode", Message: "Node not Ready"},
		metav1.Condition{Type: clusterv1.MachineOwnerRemediatedCondition, Status: isFalse, Reason: clusterv1.MachineOwnerRemediatedWaitingForRemediationReason},
	)
	m := &in.Snapshot.Machines[i]
	m.Unhealthy = &model.Mark{Since: now.Add(-time.Minute), Why: "Node not Ready"}
	m.Node.Value.Ready, m.Node.Value.ReadySince = model.Unclear, now.Add(-5*time.Minute)
	return m
}

// What a health check and people read about a server that is to be replaced.
// The decision is the planner's own.
func TestRemediationIsReported(t *testing.T) {
	record := func(retry int, age time.Duration) *model.Remediation {
		return &model.Remediation{Machine: "cp-x", At: now.Add(-age), Retry: retry}
	}
	for name, c := range map[string]struct {
		change func(in *Input)
		status metav1.ConditionStatus // of Remediating
		says   string                 // part of its message
		reason string                 // of the Machine's OwnerRemediated, empty for none
	}{
		"nobody is marked": {change: func(*Input) {}, status: isFalse},
		"about to be replaced": {func(in *Input) { silent(in, 1); mark(in, 1) }, isTrue, "* Machine cp-b is to be replaced",
			clusterv1.MachineOwnerRemediatedWaitingForRemediationReason},
		"deleted": {func(in *Input) { mark(in, 1).Deleting = true }, isTrue, "* Machine cp-b is being deleted to be replaced", controlplanev1.MachineRemediationMachineDeletingReason},
		"no quorum": {func(in *Input) { silent(in, 1); silent(in, 2); mark(in, 1) }, isTrue, "unhealthy Machine cp-b is not replaced: no quorum",
			controlplanev1.MachineRemediationDeferredReason},
		"a limit is reached": {func(in *Input) {
			silent(in, 1)
			none := 0
			in.Snapshot.ControlPlane.Remediation = model.RemediationPolicy{MaxRetry: &none, MinHealthyPeriod: time.Hour}
			mark(in, 1).RemediationFor = record(0, time.Minute)
		}, isTrue, "0 replacements in a row are the limit", controlplanev1.MachineCannotBeRemediatedReason},
		"too soon": {func(in *Input) {
			silent(in, 1)
			in.Snapshot.ControlPlane.Remediation = model.RemediationPolicy{RetryPeriod: time.Hour}
			mark(in, 1).RemediationFor = record(0, time.Minute)
		}, isTrue, "the retry period is 1h0m0s", controlplanev1.MachineRemediationDeferredReason},
		"gone, and its replacement not made": {func(in *Input) { in.Snapshot.ControlPlane.Remediation.InProgress = record(0, time.Minute) }, isTrue,
			"* Machine cp-x is gone and its replacement is not made yet", ""},
		"not while all is deleted": {func(in *Input) {
			in.Snapshot.ControlPlane.Remediation.InProgress = record(0, time.Minute)
			in.Snapshot.ControlPlane.Deleting = true
		}, isFalse, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy(3)
			c.change(&in)
			in.Decision = plan.Decide(in.Snapshot)
			r := Make(in)
			if got := condition(t, r, controlplanev1.RemediatingCondition); got.Status != c.status || !strings.Contains(got.Message, c.says) {
				t.Errorf("Remediating is %s, %q", got.Status, got.Message)
			}
			owner, said := find(r.MachineConditions["cp-b"], clusterv1.MachineOwnerRemediatedCondition)
			if said != (c.reason != "") || said && (owner.Status != isFalse || owner.Reason != c.reason) {
				t.Errorf("OwnerRemediated is %s, %s, %q; want the reason %q", owner.Status, owner.Reason, owner.Message, c.reason)
			}
		})
	}
}

// The latest of all records is shown, and one that is shown is not lost with
// the Machine or annotation that it came from.
func TestLastRemediation(t *testing.T) {
	at := func(age time.Duration) metav1.Time { return metav1.NewTime(now.Add(-age)) }
	older := &controlplanev1.LastRemediationStatus{Machine: "cp-u", Timestamp: at(3 * time.Hour), RetryCount: 1}
	for name, c := range map[string]struct {
		status *controlplanev1.LastRemediationStatus
		change func(s *model.Snapshot)
		want   *controlplanev1.LastRemediationStatus
	}{
		"none":                 {nil, func(*model.Snapshot) {}, nil},
		"kept from the status": {older, func(*model.Snapshot) {}, older},
		"lost status, by Machine": {nil, func(s *model.Snapshot) {
			s.Machines[1].RemediationFor = &model.Remediation{Machine: "cp-x", At: now.Add(-time.Hour)}
		}, &controlplanev1.LastRemediationStatus{Machine: "cp-x", Timestamp: at(time.Hour)}},
		"the one in progress": {older, func(s *model.Snapshot) {
			s.Machines[1].RemediationFor = &model.Remediation{Machine: "cp-x", At: now.Add(-time.Hour)}
			s.ControlPlane.Remediation.InProgress = &model.Remediation{Machine: "cp-b", At: now.Add(-time.Minute), Retry: 1}
		}, &controlplanev1.LastRemediationStatus{Machine: "cp-b", Timestamp: at(time.Minute), RetryCount: 1}},
		"the latest of several Machines": {older, func(s *model.Snapshot) {
			s.Machines[0].RemediationFor = &model.Remediation{Machine: "cp-y", At: now.Add(-time.Hour), Retry: 4}
			s.Machines[2].RemediationFor = &model.Remediation{Machine: "cp-x", At: now.Add(-2 * time.Hour)}
		}, &controlplanev1.LastRemediationStatus{Machine: "cp-y", Timestamp: at(time.Hour), RetryCount: 4}},
		"an older record than the status": {older, func(s *model.Snapshot) {
			s.Machines[0].RemediationFor = &model.Remediation{Machine: "cp-y", At: now.Add(-4 * time.Hour)}
		}, older},
	} {
		in := healthy(3)
		in.ControlPlane.Status.LastRemediation = c.status
		c.change(&in.Snapshot)
		if diff := cmp.Diff(c.want, Make(in).Status.LastRemediation); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Counters are about Machines, and say the same whether or not the workload
// cluster can be seen.
func TestCountersInOddStates(t *testing.T) {
	for name, c := range map[string]struct {
		servers int
		change  func(in *Input)
		want    [4]int32 // replicas, ready, available, up to date
		version string
	}{
		"no Machine":                {0, func(*Input) {}, [4]int32{}, ""},
		"out of contact":            {3, func(in *Input) { silence(in); in.LastContact = time.Time{} }, [4]int32{3, 3, 3, 3}, "v1.36.3+rke2r1"},
		"one leaves":                {3, func(in *Input) { in.Snapshot.Machines[0].Deleting = true }, [4]int32{3, 3, 3, 3}, "v1.36.3+rke2r1"},
		"core has said nothing yet": {2, func(in *Input) { in.Machines[1].Status.Conditions = nil }, [4]int32{2, 1, 1, 2}, "v1.36.3+rke2r1"},
		"the node runs another release": {2, func(in *Input) {
			in.Machines[1].Status.NodeInfo = &corev1.NodeSystemInfo{KubeletVersion: "v1.36.3+rke2r0"}
		}, [4]int32{2, 2, 2, 1}, "v1.36.3+rke2r0"},
		"the node runs no release at all": {2, func(in *Input) { in.Machines[1].Status.NodeInfo = &corev1.NodeSystemInfo{KubeletVersion: "dev"} }, [4]int32{2, 2, 2, 2}, "v1.36.3+rke2r1"},
	} {
		in := healthy(c.servers)
		c.change(&in)
		s := Make(in).Status
		if got := [4]int32{*s.Replicas, *s.ReadyReplicas, *s.AvailableReplicas, *s.UpToDateReplicas}; got != c.want || s.Version != c.version {
			t.Errorf("%s: %v, version %q", name, got, s.Version)
		}
	}
}
