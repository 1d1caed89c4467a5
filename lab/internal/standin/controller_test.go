package standin

import (
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/standin/pods"
)

// controllerWith returns a member controller without etcd that sees the Node.
func controllerWith(t *testing.T, object *corev1.Node) *memberController {
	t.Helper()
	instance := guest.Instance{IP: netip.MustParseAddr("10.0.0.1")}
	s := &server{
		node: &node{log: slog.New(slog.DiscardHandler), name: "s1", instance: instance},
		pods: pods.Node{MemberName: "s1-0a1b2c3d"},
		kube: fake.NewClientset(object),
	}
	c := newMemberController(s)
	c.store = cache.NewStore(cache.MetaNamespaceKeyFunc)
	if err := c.store.Add(object); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *memberController) read(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := c.kube.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func TestEveryNodeGetsTheFinalizers(t *testing.T) {
	c := controllerWith(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Finalizers: []string{"other/one"}}})
	if err := c.reconcile(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	if got := c.read(t, "w1").Finalizers; !slices.Equal(got, []string{"other/one", finalizerNode, finalizerEtcd}) {
		t.Errorf("finalizers: %q", got)
	}
}

func TestDeletedNodesLoseOnlyOurFinalizers(t *testing.T) {
	now := metav1.Now()
	for _, test := range []struct {
		name        string
		labels      map[string]string
		annotations map[string]string
	}{
		{"worker", nil, nil},
		{"server whose member was removed", map[string]string{labelEtcd: "true"}, map[string]string{annotationRemoved: "s2-2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := controllerWith(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
				Name: "n", DeletionTimestamp: &now, Labels: test.labels, Annotations: test.annotations,
				Finalizers: []string{finalizerNode, "other/one", finalizerEtcd},
			}})
			if err := c.reconcile(t.Context(), "n"); err != nil {
				t.Fatal(err)
			}
			if got := c.read(t, "n").Finalizers; !slices.Equal(got, []string{"other/one"}) {
				t.Errorf("finalizers: %q", got)
			}
		})
	}
}

func TestAServerWithoutAnnotationsIsNotLetGo(t *testing.T) {
	now := metav1.Now()
	c := controllerWith(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n", DeletionTimestamp: &now, Labels: map[string]string{labelEtcd: "true"}, Finalizers: []string{finalizerEtcd},
	}})
	if err := c.reconcile(t.Context(), "n"); err == nil || !strings.Contains(err.Error(), "no annotations that name its member") {
		t.Errorf("got %v", err)
	}
	if got := c.read(t, "n").Finalizers; !slices.Equal(got, []string{finalizerEtcd}) {
		t.Errorf("finalizers: %q", got)
	}
}

func TestMarkNode(t *testing.T) {
	ours := map[string]string{annotationName: "s1-0a1b2c3d", annotationAddress: "10.0.0.1"}
	for _, test := range []struct {
		name         string
		before, want map[string]string
	}{
		{"new", nil, nil},
		{"with the annotations of others", map[string]string{"other": "x"}, map[string]string{"other": "x"}},
		{"joined again", map[string]string{annotationRemove: "true", annotationRemoved: "s1-ffffffff"}, nil},
		{
			"the same member was removed", map[string]string{annotationRemove: "true", annotationRemoved: "s1-0a1b2c3d"},
			map[string]string{annotationRemove: "true", annotationRemoved: "s1-0a1b2c3d"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := controllerWith(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "s1", Annotations: test.before}})
			if err := c.markNode(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := maps.Clone(ours)
			maps.Copy(want, test.want)
			node := c.read(t, "s1")
			if !maps.Equal(node.Annotations, want) {
				t.Errorf("annotations: %v, want %v", node.Annotations, want)
			}
			if node.Labels[labelControlPlane] != "true" || node.Labels[labelEtcd] != "true" {
				t.Errorf("labels: %v", node.Labels)
			}
			if _, err := c.kube.CoreV1().Secrets("kube-system").Get(t.Context(), servingSecret, metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMustTearDown(t *testing.T) {
	now := metav1.Now()
	for _, test := range []struct {
		meta metav1.ObjectMeta
		want bool
	}{
		{metav1.ObjectMeta{}, false},
		{metav1.ObjectMeta{DeletionTimestamp: &now}, true},
		{metav1.ObjectMeta{Annotations: map[string]string{annotationRemove: "true"}}, true},
		{metav1.ObjectMeta{Annotations: map[string]string{annotationRemove: "True"}}, false},
		{metav1.ObjectMeta{Annotations: map[string]string{annotationRemoved: "s1-1"}}, false},
	} {
		if got := mustTearDown(&corev1.Node{ObjectMeta: test.meta}); got != test.want {
			t.Errorf("%+v: got %v", test.meta, got)
		}
	}
}
