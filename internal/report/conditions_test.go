package report

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

type want struct {
	kind    string
	status  metav1.ConditionStatus
	reason  string
	message string
}

// cases are states of a control plane with three servers and what has to be
// said about each. The lint test goes over all of them, too.
var cases = map[string]struct {
	change func(in *Input)
	want   []want
}{
	"all is well": {
		change: func(*Input) {},
		want: []want{
			{"Available", isTrue, "Available", ""},
			{"Initialized", isTrue, "Initialized", ""},
			{"CertificatesAvailable", isTrue, "Available", ""},
			{"EtcdClusterHealthy", isTrue, "Healthy", ""},
			{"ControlPlaneComponentsHealthy", isTrue, "Healthy", ""},
			{"MachinesReady", isTrue, "Ready", ""},
			{"MachinesUpToDate", isTrue, "UpToDate", ""},
			{"RollingOut", isFalse, "NotRollingOut", ""},
			{"ScalingUp", isFalse, "NotScalingUp", ""},
			{"ScalingDown", isFalse, "NotScalingDown", ""},
			{"Remediating", isFalse, "NotRemediating", ""},
			{"Deleting", isFalse, "NotDeleting", ""},
		},
	},
	"one member is silent": {
		change: func(in *Input) { silent(in, 1) },
		want: []want{
			{"EtcdClusterHealthy", isFalse, "NotHealthy", "Member node-cp-b-0123abcd does not answer: connection refused"},
			{"Available", isTrue, "Available", ""},
		},
	},
	"two members are silent": {
		change: func(in *Input) { silent(in, 1); silent(in, 2) },
		want: []want{
			{"EtcdClusterHealthy", isFalse, "NotHealthy", "connection refused"},
			{"Available", isFalse, "NotAvailable", "etcd has no quorum: 1 of 3 voters are healthy, 2 are needed"},
		},
	},
	"two members could not be asked": {
		change: func(in *Input) {
			for i := 1; i < 3; i++ {
				in.Snapshot.Etcd.Members.Value[i].Answers = model.Unknown[bool]("kubelet does not answer", now)
			}
		},
		want: []want{
			{"EtcdClusterHealthy", isUnknown, "HealthUnknown", "could not be asked: kubelet does not answer"},
			{"Available", isUnknown, "InspectionFailed", ""},
		},
	},
	"etcd could not be read": {
		change: func(in *Input) {
			in.Snapshot.Etcd.Members = model.Unknown[[]model.Member]("read tcp 10.9.9.9:41840->10.1.0.1:2379: reset", now)
		},
		want: []want{
			{"EtcdClusterHealthy", isUnknown, "InspectionFailed", "could not be read: read tcp 10.1.0.1:2379: reset"},
			{"Available", isUnknown, "InspectionFailed", ""},
		},
	},
	"a learner joins": {
		change: func(in *Input) {
			m := &in.Snapshot.Etcd.Members.Value[2]
			m.Learner = true
		},
		want: []want{
			{"EtcdClusterHealthy", isFalse, "NotHealthy", "is a learner"},
			{"Available", isTrue, "Available", ""},
		},
	},
	"a member belongs to nobody": {
		change: func(in *Input) {
			in.Snapshot.Etcd.Members.Value = append(in.Snapshot.Etcd.Members.Value,
				model.Member{ID: 9, Name: "node-old-1", Answers: model.Known(true, now)})
		},
		want: []want{{"EtcdClusterHealthy", isFalse, "NotHealthy", "node-old-1 belongs to no Machine"}},
	},
	"a scheduler crashes": {
		change: func(in *Input) {
			fact := model.Known(false, now)
			fact.Reason = "pod kube-scheduler-node-cp-c is not ready"
			in.Snapshot.Machines[2].Components["kube-scheduler"] = fact
		},
		want: []want{
			{"ControlPlaneComponentsHealthy", isFalse, "NotHealthy", "Machine cp-c: kube-scheduler: pod kube-scheduler-node-cp-c is not ready"},
			{"Available", isTrue, "Available", ""},
		},
	},
	"no first server yet": {
		change: func(in *Input) {
			in.ControlPlane.Status = controlplanev1.RKE2ControlPlaneStatus{}
			in.Snapshot.ControlPlane.Initialized = false
			in.LastContact = time.Time{}
			silence(in)
			in.Machines, in.Snapshot.Machines = nil, nil
		},
		want: []want{
			{"Initialized", isFalse, "NotInitialized", ""},
			{"Available", isFalse, "WaitingForRKE2Server", ""},
			{"EtcdClusterHealthy", isUnknown, "WaitingForRKE2Server", ""},
			{"MachinesReady", isTrue, "NoReplicas", ""},
			{"ScalingUp", isTrue, "ScalingUp", "from 0 to 3"},
		},
	},
	"contact was lost long ago": {
		change: func(in *Input) { silence(in); in.LastContact = now.Add(-ContactGrace) },
		want: []want{
			{"Available", isUnknown, "ConnectionDown", "since 03:02:05 UTC"},
			{"EtcdClusterHealthy", isUnknown, "ConnectionDown", ""},
			{"ControlPlaneComponentsHealthy", isUnknown, "ConnectionDown", ""},
		},
	},
	"a Secret lacks a key": {
		change: func(in *Input) {
			in.Snapshot.Cluster.Certificates = model.Known(false, now)
			in.Snapshot.Cluster.CertificateProblem = "Secret default/demo-cca: key tls.key is missing"
		},
		want: []want{
			{"CertificatesAvailable", isFalse, "NotAvailable", "demo-cca: key tls.key is missing"},
			{"Available", isFalse, "NotAvailable", "demo-cca"},
		},
	},
	"a rollout waits": {
		change: func(in *Input) {
			in.Snapshot.Machines[0].Outdated = []string{"version v1, wanted v2"}
			in.Snapshot.Machines[1].Outdated = []string{"version v1, wanted v2"}
			in.Decision.Waits = []model.Wait{drainWait}
		},
		want: []want{
			{"RollingOut", isTrue, "RollingOut", "Rolling out 2 of 3 Machines"},
			{"RollingOut", isTrue, "RollingOut", "version v1, wanted v2 (cp-a, cp-b)"},
			{"RollingOut", isTrue, "RollingOut", "waits for its drain [rule drain_comes_first; held up by PodDisruptionBudget web: let it go]"},
			{"MachinesUpToDate", isFalse, "NotUpToDate", ""},
		},
	},
	"somebody deleted a Machine": {
		change: func(in *Input) {
			in.Snapshot.Machines[0].Deleting = true
			in.Snapshot.Machines[0].Phase = model.PhaseDraining
			in.Decision.Waits = []model.Wait{drainWait}
		},
		want: []want{
			{"ScalingUp", isTrue, "ScalingUp", "rule drain_comes_first"},
			{"ScalingDown", isFalse, "NotScalingDown", ""},
		},
	},
	"something waits while nothing scales or rolls": {
		change: func(in *Input) { in.Decision.Waits = []model.Wait{drainWait} },
		want:   []want{{"RollingOut", isFalse, "NotRollingOut", "rule drain_comes_first"}},
	},
	"one server too many": {
		change: func(in *Input) { in.Snapshot.ControlPlane.Replicas = 1; in.Decision.Waits = []model.Wait{drainWait} },
		want:   []want{{"ScalingDown", isTrue, "ScalingDown", "from 3 to 1 servers:\n* Machine cp-a waits for its drain"}},
	},
	"it is deleted and workers are left": {
		change: func(in *Input) {
			in.Snapshot.ControlPlane.Deleting = true
			in.Snapshot.Cluster.Workers = 2
			in.Decision.Waits = []model.Wait{{Rule: "whole", Message: "2 workers are left", Blockers: []model.Blocker{{Kind: "Cluster", Name: "demo"}}}}
		},
		want: []want{
			{"Deleting", isTrue, "WaitingForWorkersDeletion", "2 workers are left [rule whole"},
			{"Available", isFalse, "NotAvailable", "being deleted"},
			{"RollingOut", isFalse, "NotRollingOut", ""},
		},
	},
	"it is deleted and Machines are left": {
		change: func(in *Input) { in.Snapshot.ControlPlane.Deleting = true },
		want:   []want{{"Deleting", isTrue, "WaitingForMachineDeletion", "cp-a, cp-b, cp-c"}},
	},
	"an action failed": {
		change: func(in *Input) {
			in.Snapshot.ControlPlane.Replicas = 4
			in.Failures = []string{"Failed to create a Machine: no quota"}
		},
		want: []want{{"ScalingUp", isTrue, "ScalingUp", "from 3 to 4 servers:\n* Failed to create a Machine: no quota"}},
	},
}

var drainWait = model.Wait{
	Rule: "drain_comes_first", Machine: "cp-a", Message: "Machine cp-a waits for its drain",
	Blockers: []model.Blocker{{Kind: "PodDisruptionBudget", Name: "web", Since: now, Unblock: "let it go"}},
}

func made(name string) (Input, Report) {
	in := healthy(3)
	cases[name].change(&in)
	return in, Make(in)
}

func TestConditions(t *testing.T) {
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			_, r := made(name)
			for _, w := range test.want {
				c := condition(t, r, w.kind)
				if c.Status != w.status || c.Reason != w.reason || !strings.Contains(c.Message, w.message) {
					t.Errorf("%s is %s, %s, %q; want %s, %s, %q", w.kind, c.Status, c.Reason, c.Message, w.status, w.reason, w.message)
				}
				if w.message == "" && w.status == isTrue && c.Message != "" && w.kind == "Available" {
					t.Errorf("%s: unexpected message %q", w.kind, c.Message)
				}
			}
		})
	}
}
