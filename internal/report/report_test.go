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
