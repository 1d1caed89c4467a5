package upkeep

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/drover-project/drover/internal/world/scope"
)

// Only the old password of a node that does not exist goes.
func TestPasswordsOfNodesThatAreGone(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	secret := func(namespace, name string, age time.Duration) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age))}}
	}
	workload := fake.NewClientBuilder().WithObjects(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "here"}},
		secret("kube-system", "here.node-password.rke2", time.Hour),
		secret("kube-system", "gone.node-password.rke2", time.Hour),
		secret("kube-system", "gone.example.com.node-password.rke2", time.Hour),
		secret("kube-system", "joining.node-password.rke2", time.Minute),
		secret("kube-system", "rke2-serving", time.Hour),
		secret("default", "gone.node-password.rke2", time.Hour),
	).Build()
	u := &Upkeep{Nodes: oneCluster{workload}, Now: func() time.Time { return now }}
	s := &scope.Scope{Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "u"}}}
	left := func() string {
		t.Helper()
		if err := u.passwords(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		list := &corev1.SecretList{}
		if err := workload.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, item := range list.Items {
			names = append(names, item.Namespace+"/"+strings.TrimSuffix(item.Name, ".node-password.rke2"))
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	const want = "default/gone kube-system/here kube-system/joining kube-system/rke2-serving"
	if got := left(); got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
	now = now.Add(9 * time.Minute)
	if got := left(); got != want {
		t.Errorf("looked again too soon, left are %s", got)
	}
	now = now.Add(2 * time.Minute)
	if got := left(); got != "default/gone kube-system/here kube-system/rke2-serving" {
		t.Errorf("one that never joined: left are %s", got)
	}
}
