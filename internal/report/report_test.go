package report

import (
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

const (
	isTrue    = metav1.ConditionTrue
	isFalse   = metav1.ConditionFalse
	isUnknown = metav1.ConditionUnknown
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

// No two conditions of one report may contradict each other, and every wait
// has to stand somewhere.
func TestNoContradictions(t *testing.T) {
	for name := range cases {
		t.Run(name, func(t *testing.T) {
			in, r := made(name)
			status := func(kind string) metav1.ConditionStatus { return condition(t, r, kind).Status }
			if status("Available") == isTrue {
				for _, kind := range []string{"Initialized", "CertificatesAvailable"} {
					if status(kind) != isTrue {
						t.Errorf("Available with %s=%s", kind, status(kind))
					}
				}
				healthy := 0
				for _, m := range in.Snapshot.Etcd.Members.Value {
					if m.HealthyVoter() {
						healthy++
					}
				}
				if healthy*2 <= len(in.Snapshot.Etcd.Members.Value) && status("EtcdClusterHealthy") == isFalse {
					t.Errorf("Available without quorum: %s", condition(t, r, "EtcdClusterHealthy").Message)
				}
			}
			if status("Deleting") == isTrue && (status("RollingOut") == isTrue || status("ScalingUp") == isTrue) {
				t.Error("a control plane that is being deleted neither rolls out nor grows")
			}
			if (status("MachinesUpToDate") == isTrue) == (status("RollingOut") == isTrue) && len(in.Machines) > 0 && !in.Snapshot.ControlPlane.Deleting {
				t.Errorf("MachinesUpToDate=%s and RollingOut=%s", status("MachinesUpToDate"), status("RollingOut"))
			}
			var all strings.Builder
			for _, c := range r.Status.Conditions {
				all.WriteString(c.Message)
				if c.Reason == "" || c.Status == isFalse && c.Reason == "Healthy" || c.Status == isTrue && strings.HasPrefix(c.Reason, "Not") {
					t.Errorf("%s is %s with reason %q", c.Type, c.Status, c.Reason)
				}
			}
			for _, w := range in.Decision.Waits {
				if !strings.Contains(all.String(), w.Message) || !strings.Contains(all.String(), "rule "+w.Rule) {
					t.Errorf("no condition tells of the wait %q", w.Message)
				}
			}
		})
	}
}

// A report on the result of the last one changes nothing.
func TestReportIsStable(t *testing.T) {
	for name := range cases {
		t.Run(name, func(t *testing.T) {
			in, first := made(name)
			in.ControlPlane = in.ControlPlane.DeepCopy()
			in.ControlPlane.Status = first.Status
			in.Snapshot.Now = now.Add(time.Minute)
			in.LastContact = in.LastContact.Add(0)
			if second := Make(in); !reflect.DeepEqual(first.Status, second.Status) {
				t.Errorf("the status changed from\n%+v\nto\n%+v", first.Status, second.Status)
			}
		})
	}
}

func TestLastKnownStandsForAWhile(t *testing.T) {
	in := healthy(3)
	before := Make(in)
	in.ControlPlane.Status = before.Status
	for i := range in.Machines {
		for _, c := range before.MachineConditions[in.Machines[i].Name] {
			set(&in.Machines[i].Status.Conditions, c, 2, now)
		}
	}
	silence(&in)
	in.LastContact = now.Add(-ContactGrace + time.Second)
	during := Make(in)
	for _, kind := range []string{"Available", "EtcdClusterHealthy", "ControlPlaneComponentsHealthy"} {
		if c := condition(t, during, kind); c.Status != isTrue {
			t.Errorf("%s is %s (%s) although contact was lost a moment ago", kind, c.Status, c.Message)
		}
	}
	if c, _ := find(during.MachineConditions["cp-a"], controlplanev1.MachineEtcdMemberHealthyCondition); c.Status != isTrue {
		t.Errorf("the Machine's member is %s (%s)", c.Status, c.Message)
	}
	in.LastContact = now.Add(-ContactGrace)
	after := Make(in)
	if c, _ := find(after.MachineConditions["cp-a"], controlplanev1.MachineEtcdMemberHealthyCondition); c.Status != isUnknown || c.Reason != controlplanev1.ConnectionDownReason {
		t.Errorf("after the grace the Machine's member is %s, %s", c.Status, c.Reason)
	}
}

func TestInitialized(t *testing.T) {
	begin := func(change func(in *Input)) bool {
		in := healthy(1)
		in.ControlPlane.Status = controlplanev1.RKE2ControlPlaneStatus{}
		change(&in)
		r := Make(in)
		return ptr.Deref(r.Status.Initialization.ControlPlaneInitialized, false)
	}
	for name, test := range map[string]struct {
		change func(in *Input)
		want   bool
	}{
		"API and voter":     {func(*Input) {}, true},
		"a learner only":    {func(in *Input) { in.Snapshot.Etcd.Members.Value[0].Learner = true }, false},
		"not started":       {func(in *Input) { in.Snapshot.Etcd.Members.Value[0].Name = "" }, false},
		"no answer yet":     {func(in *Input) { in.Snapshot.ControlPlane.Initialized = false; silence(in) }, false},
		"it is going":       {func(in *Input) { in.Snapshot.Machines[0].Deleting = true }, false},
		"external database": {func(in *Input) { in.Snapshot.ControlPlane.ExternalDatastore = true; in.Snapshot.Etcd = model.Etcd{} }, true},
	} {
		if got := begin(test.change); got != test.want {
			t.Errorf("%s: initialized is %v", name, got)
		}
	}
}

func TestExternalDatastoreHasNoEtcdCondition(t *testing.T) {
	in := healthy(2)
	in.ControlPlane.Status = Make(in).Status
	in.Snapshot.ControlPlane.ExternalDatastore = true
	in.Snapshot.Etcd = model.Etcd{}
	r := Make(in)
	if _, ok := find(r.Status.Conditions, "EtcdClusterHealthy"); ok {
		t.Error("there is a condition about etcd members that do not exist")
	}
	if c := condition(t, r, "Available"); c.Status != isTrue {
		t.Errorf("Available is %s: %s", c.Status, c.Message)
	}
}

func TestCounters(t *testing.T) {
	in := healthy(3)
	in.Machines[0].Spec.Version = "v1.36.3+rke2r10"
	in.Machines[1].Spec.Version = "v1.36.3+rke2r2"
	in.Machines[2].Spec.Version = "v1.36.3+rke2r10"
	in.Machines[2].Status.NodeInfo = nil
	in.Machines[0].Status.Conditions[0].Status = isFalse
	in.Snapshot.Machines[1].Outdated = []string{"version"}
	s := Make(in).Status
	if *s.Replicas != 3 || *s.ReadyReplicas != 2 || *s.AvailableReplicas != 3 || *s.UpToDateReplicas != 2 {
		t.Errorf("counters %d %d %d %d", *s.Replicas, *s.ReadyReplicas, *s.AvailableReplicas, *s.UpToDateReplicas)
	}
	want := []clusterv1.StatusVersion{{Version: "v1.36.3+rke2r2", Replicas: 1}, {Version: "v1.36.3+rke2r10", Replicas: 2}}
	if !reflect.DeepEqual(s.Versions, want) || s.Version != "v1.36.3+rke2r2" {
		t.Errorf("versions %v, version %s", s.Versions, s.Version)
	}
	if s.Selector != "cluster.x-k8s.io/cluster-name=demo,cluster.x-k8s.io/control-plane" || s.ObservedGeneration != 7 {
		t.Errorf("selector %q, generation %d", s.Selector, s.ObservedGeneration)
	}
}

func TestServerAddresses(t *testing.T) {
	for name, test := range map[string]struct {
		method controlplanev1.RegistrationMethod
		change func(in *Input)
		want   string
	}{
		"default":                   {"", func(*Input) {}, "10.0.0.1"},
		"internal first":            {controlplanev1.RegistrationInternalFirst, func(*Input) {}, "10.1.0.1 10.1.0.2 10.1.0.3"},
		"external only":             {controlplanev1.RegistrationExternalOnlyIPs, func(*Input) {}, "192.0.2.1 192.0.2.2 192.0.2.3"},
		"not the one that leaves":   {controlplanev1.RegistrationInternalFirst, func(in *Input) { in.Snapshot.Machines[0].Deleting = true }, "10.1.0.2 10.1.0.3"},
		"not one that is not Ready": {controlplanev1.RegistrationInternalFirst, func(in *Input) { in.Snapshot.Machines[1].Node.Value.Ready = model.No }, "10.1.0.1 10.1.0.3"},
		"not a learner":             {controlplanev1.RegistrationInternalFirst, func(in *Input) { in.Snapshot.Etcd.Members.Value[2].Learner = true }, "10.1.0.1 10.1.0.2"},
		"the last known without contact": {controlplanev1.RegistrationInternalFirst, func(in *Input) {
			silence(in)
			in.ControlPlane.Status.AvailableServerIPs = []string{"10.1.0.9"}
		}, "10.1.0.9"},
		"internal only":    {controlplanev1.RegistrationInternalOnlyIPs, func(*Input) {}, "10.1.0.1 10.1.0.2 10.1.0.3"},
		"the endpoint":     {controlplanev1.RegistrationControlPlaneEndpoint, func(*Input) {}, "10.0.0.1"},
		"who goes is last": {controlplanev1.RegistrationInternalFirst, func(in *Input) { in.Order = []string{"cp-a", "cp-b"} }, "10.1.0.3 10.1.0.2 10.1.0.1"},
		"internal only, one has none": {controlplanev1.RegistrationInternalOnlyIPs, func(in *Input) {
			in.Machines[0].Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineExternalIP, Address: "192.0.2.1"}}
		}, "10.1.0.2 10.1.0.3"},
		"internal first, one has none": {controlplanev1.RegistrationInternalFirst, func(in *Input) {
			in.Machines[0].Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineExternalIP, Address: "fd00::1"}}
		}, "fd00::1 10.1.0.2 10.1.0.3"},
		"not one whose member is silent": {controlplanev1.RegistrationExternalOnlyIPs, func(in *Input) { silent(in, 0) }, "192.0.2.2 192.0.2.3"},
		"an address":                     {controlplanev1.RegistrationAddress, func(in *Input) { in.ControlPlane.Spec.RegistrationAddress = "join.example.com" }, "join.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy(3)
			in.ControlPlane.Spec.RegistrationMethod = test.method
			test.change(&in)
			if got := strings.Join(Make(in).Status.AvailableServerIPs, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestMachineConditions(t *testing.T) {
	in := healthy(3)
	in.Snapshot.Machines[0].Deleting, in.Snapshot.Machines[0].Phase = true, model.PhaseWaitingForPreTerm
	in.Snapshot.Etcd.Members.Value[0].Machine = ""
	in.Snapshot.Machines[1].NodeName = ""
	in.Snapshot.Machines[1].Outdated = []string{"version v1, wanted v2"}
	silent(&in, 2)
	r := Make(in)
	for _, test := range []struct {
		machine string
		want    want
	}{
		{"cp-a", want{"EtcdMemberHealthy", isUnknown, "Deleting", ""}},
		{"cp-a", want{"APIServerPodHealthy", isUnknown, "Deleting", ""}},
		{"cp-b", want{"EtcdPodHealthy", isUnknown, "InspectionFailed", "Waiting for the Machine's Node"}},
		{"cp-b", want{"UpToDate", isFalse, "NotUpToDate", "* version v1, wanted v2"}},
		{"cp-c", want{"EtcdMemberHealthy", isFalse, "NotHealthy", "connection refused"}},
		{"cp-c", want{"SchedulerPodHealthy", isTrue, "Running", ""}},
	} {
		c, ok := find(r.MachineConditions[test.machine], test.want.kind)
		if !ok || c.Status != test.want.status || c.Reason != test.want.reason || !strings.Contains(c.Message, test.want.message) {
			t.Errorf("%s: %+v, want %+v", test.machine, c, test.want)
		}
	}
}

func TestWaitEventsAreSentOnce(t *testing.T) {
	one := model.Decision{Waits: []model.Wait{drainWait}}
	if got := WaitEvents(model.Decision{}, one); len(got) != 1 || got[0].Machine != "cp-a" || got[0].Reason != WaitingEvent {
		t.Errorf("a wait that began gave %v", got)
	}
	again := drainWait
	again.Message = "Machine cp-a waits for its drain, 3 pods are left"
	if got := WaitEvents(one, model.Decision{Waits: []model.Wait{again}}); len(got) != 0 {
		t.Errorf("a wait that goes on gave %v", got)
	}
	again.Blockers = []model.Blocker{{Kind: "Pod", Name: "web-0"}}
	if got := WaitEvents(one, model.Decision{Waits: []model.Wait{again}}); len(got) != 1 {
		t.Errorf("a wait with another blocker gave %v", got)
	}
}

func TestNoteFitsAnEvent(t *testing.T) {
	if got := Note(strings.Repeat("x", 5000)); len(got) != maxNote || !strings.HasSuffix(got, "...") {
		t.Errorf("%d characters", len(got))
	}
}
