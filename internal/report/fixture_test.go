package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// healthy is the input of an initialized control plane with n whole servers
// that are as wished.
func healthy(n int) Input {
	in := Input{
		ControlPlane: &controlplanev1.RKE2ControlPlane{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", Generation: 7},
			Spec:       controlplanev1.RKE2ControlPlaneSpec{Replicas: ptr.To(int32(n)), Version: "v1.36.3+rke2r1"},
			Status: controlplanev1.RKE2ControlPlaneStatus{
				Initialization: controlplanev1.RKE2ControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(true)},
			},
		},
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo"},
			Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443}},
		},
		Snapshot: model.Snapshot{
			Now: now,
			ControlPlane: model.ControlPlane{
				Namespace: "default", Name: "demo", Replicas: n, MaxSurge: 1, Version: "v1.36.3+rke2r1", Initialized: true,
			},
			Cluster: model.Cluster{
				Name: "demo", InfrastructureReady: true, Endpoint: "10.0.0.1:6443",
				Template: model.Known(true, now), TemplateName: "LabMachineTemplate/small",
				Certificates: model.Known(true, now), Registration: model.Known(true, now),
			},
		},
		LastContact: now.Add(-3 * time.Second),
	}
	var members []model.Member
	for i := range n {
		name := "cp-" + string(rune('a'+i))
		in.Machines = append(in.Machines, machine(name, i))
		in.Snapshot.Machines = append(in.Snapshot.Machines, model.Machine{
			Name: name, UID: name, Created: now.Add(time.Duration(i-10) * time.Hour), Version: "v1.36.3+rke2r1",
			InfrastructureReady: true, PreDrainHook: true, PreTerminateHook: true,
			NodeName: "node-" + name,
			Node:     model.Known(model.Node{Exists: true, Ready: model.Yes, MemberAnnotated: true}, now),
			Components: map[string]model.Fact[bool]{
				"kube-apiserver": model.Known(true, now), "kube-controller-manager": model.Known(true, now),
				"kube-scheduler": model.Known(true, now), "etcd": model.Known(true, now),
			},
		})
		members = append(members, model.Member{
			ID: uint64(i + 1), Name: "node-" + name + "-0123abcd", Machine: name, Leader: i == 0,
			Answers: model.Known(true, now), NodeReady: model.Yes,
		})
	}
	in.Snapshot.Etcd.Members = model.Known(members, now)
	return in
}

func machine(name string, i int) *clusterv1.Machine {
	return &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", Generation: 2,
			CreationTimestamp: metav1.NewTime(now.Add(time.Duration(i-10) * time.Hour)),
		},
		Spec: clusterv1.MachineSpec{Version: "v1.36.3+rke2r1"},
		Status: clusterv1.MachineStatus{
			Addresses: clusterv1.MachineAddresses{
				{Type: clusterv1.MachineExternalIP, Address: "192.0.2." + string(rune('1'+i))},
				{Type: clusterv1.MachineInternalIP, Address: "10.1.0." + string(rune('1'+i))},
			},
			Conditions: []metav1.Condition{
				{Type: clusterv1.MachineReadyCondition, Status: metav1.ConditionTrue, Reason: "Ready"},
				{Type: clusterv1.MachineAvailableCondition, Status: metav1.ConditionTrue, Reason: "Available"},
			},
		},
	}
}

// silence makes everything in the workload cluster unknown.
func silence(in *Input) {
	in.Snapshot.Etcd.Members = model.Unknown[[]model.Member]("no connection", now)
	for i := range in.Snapshot.Machines {
		m := &in.Snapshot.Machines[i]
		m.Node = model.Unknown[model.Node]("no connection", now)
		for name := range m.Components {
			m.Components[name] = model.Unknown[bool]("no connection", now)
		}
	}
}

// silent makes one member known not to answer.
func silent(in *Input, i int) {
	fact := model.Known(false, now)
	fact.Reason = "connection refused"
	in.Snapshot.Etcd.Members.Value[i].Answers = fact
}

func condition(t *testing.T, r Report, kind string) metav1.Condition {
	t.Helper()
	c, ok := find(r.Status.Conditions, kind)
	if !ok {
		t.Fatalf("there is no condition %s", kind)
	}
	return c
}
