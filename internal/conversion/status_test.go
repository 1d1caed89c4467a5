package conversion

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1beta1 "github.com/drover-project/drover/api/bootstrap/v1beta1"
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// at is a time, some minutes after a fixed one.
func at(minutes int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 0, minutes, 0, 0, time.UTC))
}

func condition(name string, status metav1.ConditionStatus, reason string, minutes int) metav1.Condition {
	return metav1.Condition{Type: name, Status: status, Reason: reason, Message: "message of " + name, LastTransitionTime: at(minutes)}
}

// Readers of v1beta1 see the counters and flags of v1beta2.
func TestStatusInV1Beta1(t *testing.T) {
	hub := &controlplanev1.RKE2ControlPlane{Status: controlplanev1.RKE2ControlPlaneStatus{
		Initialization: controlplanev1.RKE2ControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(true)},
		Selector:       "a=b", Replicas: ptr.To[int32](3), ReadyReplicas: ptr.To[int32](2), AvailableReplicas: ptr.To[int32](1),
		UpToDateReplicas: ptr.To[int32](0), Version: "v1.36.3+rke2r1",
		Versions:           []clusterv1.StatusVersion{{Version: "v1.36.3+rke2r1", Replicas: 3}},
		AvailableServerIPs: []string{"10.0.0.1"}, ObservedGeneration: 7,
		LastRemediation: &controlplanev1.LastRemediationStatus{Machine: "m", Timestamp: at(0), RetryCount: 2},
		Conditions:      []metav1.Condition{condition("Available", metav1.ConditionTrue, "Available", 1)},
	}}
	want := controlplanev1beta1.RKE2ControlPlaneStatus{
		Ready: true, Initialized: true, Replicas: 3, ReadyReplicas: 2, UpdatedReplicas: 0, UnavailableReplicas: 2,
		Version: ptr.To("v1.36.3+rke2r1"), AvailableServerIPs: []string{"10.0.0.1"}, ObservedGeneration: 7,
		LastRemediation: hub.Status.LastRemediation,
		Conditions: clusterv1beta1.Conditions{
			{Type: "Ready", Status: "True", LastTransitionTime: at(1)}, {Type: "Available", Status: "True", LastTransitionTime: at(1)}},
		V1Beta2: &controlplanev1beta1.RKE2ControlPlaneV1Beta2Status{
			Conditions: hub.Status.Conditions, ReadyReplicas: ptr.To[int32](2), AvailableReplicas: ptr.To[int32](1), UpToDateReplicas: ptr.To[int32](0)},
	}
	old := fromHub(t, hub)
	equal(t, "v1beta1", want, old.Status)
	equal(t, "v1beta2 again", hub, toHub(t, old))

	hub.Status = controlplanev1.RKE2ControlPlaneStatus{Replicas: ptr.To[int32](1), AvailableReplicas: ptr.To[int32](2), ReadyReplicas: ptr.To[int32](0)}
	got := fromHub(t, hub).Status
	if got.Ready || got.UnavailableReplicas != 0 {
		t.Errorf("no ready server, none unavailable: got ready %v, %d unavailable", got.Ready, got.UnavailableReplicas)
	}
}

// A status that a v1beta1 controller wrote reaches v1beta2 as far as v1beta2 can say it.
func TestStatusFromV1Beta1(t *testing.T) {
	old := controlPlane(controlplanev1beta1.RKE2ControlPlaneSpec{})
	old.Status = controlplanev1beta1.RKE2ControlPlaneStatus{
		Ready: true, Initialized: true, DataSecretName: ptr.To("s"), FailureReason: "Broken", FailureMessage: "it broke",
		Replicas: 3, ReadyReplicas: 2, UpdatedReplicas: 1, UnavailableReplicas: 1,
		Conditions: clusterv1beta1.Conditions{{Type: "Ready", Status: "False", Severity: "Error", LastTransitionTime: at(3)}},
	}
	hub := toHub(t, old)
	equal(t, "v1beta2", controlplanev1.RKE2ControlPlaneStatus{
		Initialization: controlplanev1.RKE2ControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(true)},
		Replicas:       ptr.To[int32](3), ReadyReplicas: ptr.To[int32](2), UpToDateReplicas: ptr.To[int32](1),
	}, hub.Status)
	equal(t, "v1beta1 again", old, fromHub(t, hub))

	// Once v1beta2 says something else, what only v1beta1 could say is out of date.
	hub.Status.ReadyReplicas = ptr.To[int32](3)
	got := fromHub(t, hub).Status
	if got.FailureReason != "" || got.FailureMessage != "" || got.DataSecretName != nil || got.ReadyReplicas != 3 {
		t.Errorf("stale status: %+v", got)
	}

	// The block v1beta2 has the better counters.
	old.Status.V1Beta2 = &controlplanev1beta1.RKE2ControlPlaneV1Beta2Status{ReadyReplicas: ptr.To[int32](0), AvailableReplicas: ptr.To[int32](2)}
	hub = toHub(t, old)
	equal(t, "readyReplicas", ptr.To[int32](0), hub.Status.ReadyReplicas)
	equal(t, "availableReplicas", ptr.To[int32](2), hub.Status.AvailableReplicas)
	equal(t, "upToDateReplicas", ptr.To[int32](1), hub.Status.UpToDateReplicas)
}

// A status update in v1beta1 carries the annotation that the object had when it was read.
func TestStatusUpdateWithOlderAnnotation(t *testing.T) {
	hub := &controlplanev1.RKE2ControlPlane{Status: controlplanev1.RKE2ControlPlaneStatus{
		Initialization: controlplanev1.RKE2ControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(false)},
		Replicas:       ptr.To[int32](0), Selector: "a=b",
	}}
	old := fromHub(t, hub)
	equal(t, "unchanged", hub, toHub(t, old))
	old.Status.Initialized, old.Status.Replicas = true, 1
	equal(t, "changed", controlplanev1.RKE2ControlPlaneStatus{
		Initialization: controlplanev1.RKE2ControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(true)},
		Replicas:       ptr.To[int32](1), Selector: "a=b",
	}, toHub(t, old).Status)
}

func TestControlPlaneConditions(t *testing.T) {
	type old = clusterv1beta1.Condition
	for name, c := range map[string]struct {
		src  []metav1.Condition
		want clusterv1beta1.Conditions
	}{
		"none":    {nil, nil},
		"unknown": {[]metav1.Condition{condition("Paused", "False", "NotPaused", 0)}, nil},
		"true ones have no reason": {
			[]metav1.Condition{condition("MachinesUpToDate", "True", "UpToDate", 2), condition("EtcdClusterHealthy", "True", "Healthy", 1)},
			clusterv1beta1.Conditions{
				{Type: "Ready", Status: "True", LastTransitionTime: at(2)},
				{Type: "EtcdClusterHealthy", Status: "True", LastTransitionTime: at(1)},
				{Type: "MachinesSpecUpToDate", Status: "True", LastTransitionTime: at(2)}}},
		"a false one decides": {
			[]metav1.Condition{condition("Available", "Unknown", "X", 3), condition("MachinesReady", "False", "NotReady", 1)},
			clusterv1beta1.Conditions{
				{Type: "Ready", Status: "False", Severity: "Warning", Reason: "NotReady", Message: "message of MachinesReady", LastTransitionTime: at(1)},
				{Type: "Available", Status: "Unknown", Reason: "X", Message: "message of Available", LastTransitionTime: at(3)},
				{Type: "MachinesReady", Status: "False", Severity: "Warning", Reason: "NotReady", Message: "message of MachinesReady", LastTransitionTime: at(1)}}},
		"waiting is information": {
			[]metav1.Condition{condition("Available", "False", "WaitingForRKE2Server", 1)},
			clusterv1beta1.Conditions{
				{Type: "Ready", Status: "False", Severity: "Info", Reason: "WaitingForRKE2Server", Message: "message of Available", LastTransitionTime: at(1)},
				{Type: "Available", Status: "False", Severity: "Info", Reason: "WaitingForRKE2Server", Message: "message of Available", LastTransitionTime: at(1)}}},
		"scaling": {
			[]metav1.Condition{condition("ScalingUp", "False", "NotScalingUp", 1), condition("ScalingDown", "True", "ScalingDown", 2)},
			clusterv1beta1.Conditions{
				{Type: "Ready", Status: "False", Severity: "Info", Reason: "ScalingDown", Message: "message of ScalingDown", LastTransitionTime: at(2)},
				{Type: "Resized", Status: "False", Severity: "Info", Reason: "ScalingDown", Message: "message of ScalingDown", LastTransitionTime: at(2)}}},
		"not scaling": {
			[]metav1.Condition{condition("ScalingUp", "False", "NotScalingUp", 2), condition("ScalingDown", "False", "NotScalingDown", 1)},
			clusterv1beta1.Conditions{
				{Type: "Ready", Status: "True", LastTransitionTime: at(2)}, {Type: "Resized", Status: "True", LastTransitionTime: at(2)}}},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, "conditions", c.want, controlPlaneConditions(c.src))
		})
	}
	long := condition("Available", "False", strings.Repeat("r", 1000), 0)
	long.Message = strings.Repeat("ü", 20000)
	got := controlPlaneConditions([]metav1.Condition{long})[1]
	equal(t, "texts that v1beta1 has no room for", old{Type: "Available", Status: "False", Severity: "Warning",
		Reason: strings.Repeat("r", 256), Message: strings.Repeat("ü", 10240), LastTransitionTime: at(0)}, got)
}

func TestConfigStatus(t *testing.T) {
	hub := &bootstrapv1.RKE2Config{Status: bootstrapv1.RKE2ConfigStatus{
		Initialization: bootstrapv1.RKE2ConfigInitializationStatus{DataSecretCreated: ptr.To(true)},
		DataSecretName: ptr.To("s"), ObservedGeneration: 2,
		Conditions: []metav1.Condition{condition("DataSecretAvailable", "True", "Available", 1), condition("Ready", "True", "Ready", 1)},
	}}
	old := &bootstrapv1beta1.RKE2Config{}
	if err := configFromHub(t.Context(), hub, old); err != nil {
		t.Fatal(err)
	}
	equal(t, "v1beta1", &bootstrapv1beta1.RKE2Config{Status: bootstrapv1beta1.RKE2ConfigStatus{
		Ready: true, DataSecretName: ptr.To("s"), ObservedGeneration: 2,
		Conditions: clusterv1beta1.Conditions{
			{Type: "Ready", Status: "True", LastTransitionTime: at(1)}, {Type: "DataSecretAvailable", Status: "True", LastTransitionTime: at(1)}},
		V1Beta2: &bootstrapv1beta1.RKE2ConfigV1Beta2Status{Conditions: hub.Status.Conditions},
	}}, old)

	old.Status.FailureReason = "Broken"
	again, last := &bootstrapv1.RKE2Config{}, &bootstrapv1beta1.RKE2Config{}
	if err := configToHub(t.Context(), old, again); err != nil {
		t.Fatal(err)
	}
	equal(t, "v1beta2 again", hub.Status, again.Status)
	if err := configFromHub(t.Context(), again, last); err != nil {
		t.Fatal(err)
	}
	equal(t, "v1beta1 again", old, last)
}
