package upkeep

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/scope"
)

// oneCluster is a workload cluster that is always connected.
type oneCluster struct{ client client.Client }

func (c oneCluster) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return c.client, nil
}

func (c oneCluster) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	return c.client, nil
}

func TestNodeAnnotations(t *testing.T) {
	node := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"own": "kept", "a": "old"}}}
	}
	workload := fake.NewClientBuilder().WithObjects(node("server"), node("worker")).Build()
	machine := func(name, node string) *clusterv1.Machine {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Status.NodeRef.Name = node
		return m
	}
	s := &scope.Scope{
		Cluster:      &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}},
		ControlPlane: &controlplanev1.RKE2ControlPlane{},
		Machines:     collections.FromMachines(machine("m-1", "server"), machine("m-2", ""), machine("m-3", "gone")),
	}
	s.ControlPlane.Spec.AgentConfig.NodeAnnotations = map[string]string{"a": "new", "b": ""}
	if err := (&Upkeep{Nodes: oneCluster{workload}}).nodes(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]map[string]string{
		"server": {"own": "kept", "a": "new", "b": ""},
		"worker": {"own": "kept", "a": "old"},
	} {
		got := &corev1.Node{}
		if err := workload.Get(t.Context(), client.ObjectKey{Name: name}, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Annotations); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
