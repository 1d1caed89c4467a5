package membership

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

func TestServers(t *testing.T) {
	machine := func(name, node, providerID, address string) *clusterv1.Machine {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1.MachineSpec{ProviderID: providerID}}
		m.Status.NodeRef.Name = node
		m.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: address}}
		return m
	}
	node := func(name, providerID string) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{controlplanev1.EtcdNodeNameAnnotation: name + "-0a1b2c3d"}},
			Spec:       corev1.NodeSpec{ProviderID: providerID},
			Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "addr-" + name}}},
		}
	}
	deleted := func(m *clusterv1.Machine, annotations map[string]string) *clusterv1.Machine {
		now := metav1.Now()
		m.DeletionTimestamp, m.Annotations = &now, annotations
		return m
	}
	machines := collections.FromMachines(
		machine("referenced", "n1", "lab://1", "10.0.0.1"),
		machine("by-provider-id", "", "lab://2", "10.0.0.2"),
		machine("new", "", "", "10.0.0.3"),
		machine("node-gone", "n9", "lab://1", "10.0.0.4"),
		deleted(machine("released", "", "", "10.0.0.5"), nil),
		deleted(machine("held", "", "", "10.0.0.6"), map[string]string{controlplanev1.PreTerminateHookCleanupAnnotation: ""}),
	)
	nodes := map[string]*corev1.Node{"n1": node("n1", "lab://1"), "n2": node("n2", "lab://2"), "n3": node("n3", ""), "n4": node("n4", "")}
	// A departed server's Node, kept by RKE2's finalizers, is not asked; one
	// that still has its Machine is.
	gone := metav1.Now()
	nodes["n4"].DeletionTimestamp, nodes["n2"].DeletionTimestamp = &gone, &gone
	want := []Server{
		{Machine: "by-provider-id", Node: "n2", MemberName: "n2-0a1b2c3d", Addresses: []string{"10.0.0.2", "addr-n2"}},
		{Machine: "held", Addresses: []string{"10.0.0.6"}},
		{Machine: "new", Addresses: []string{"10.0.0.3"}},
		{Machine: "node-gone", Addresses: []string{"10.0.0.4"}},
		{Machine: "referenced", Node: "n1", MemberName: "n1-0a1b2c3d", Addresses: []string{"10.0.0.1", "addr-n1"}},
		{Machine: "released", Addresses: []string{"10.0.0.5"}, Doomed: true},
		{Node: "n3", MemberName: "n3-0a1b2c3d", Addresses: []string{"addr-n3"}},
		{Node: "n4", MemberName: "n4-0a1b2c3d", Addresses: []string{"addr-n4"}, Gone: true},
	}
	if diff := cmp.Diff(want, Servers(machines, nodes)); diff != "" {
		t.Error(diff)
	}
}
