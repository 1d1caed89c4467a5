package probe

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestFollowTellsEveryChangeInOrder(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	there := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "there"}}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(there).Build()
	told := make(chan seen, 10)
	go follow(ctx, c, &corev1.ConfigMapList{}, nil, func(s seen) { told <- s })
	next := func() seen {
		t.Helper()
		select {
		case s := <-told:
			return s
		case <-ctx.Done():
			t.Fatal("nothing was told")
			return seen{}
		}
	}
	if s := next(); s.object.GetName() != "there" || s.gone {
		t.Fatalf("first told %+v", s)
	}
	// The first change may come before the watch begins, so it is repeated until one is told.
	for changed := false; !changed; {
		there.Annotations = map[string]string{"touched": time.Now().String()}
		if err := c.Update(ctx, there); err != nil {
			t.Fatal(err)
		}
		select {
		case s := <-told:
			changed = s.object.GetAnnotations()["touched"] != ""
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("no change was told")
		}
	}
	if err := c.Delete(ctx, there); err != nil {
		t.Fatal(err)
	}
	s := next()
	for !s.gone {
		s = next() // changes from before that were still under way
	}
	if s.object.GetName() != "there" {
		t.Fatalf("after the deletion told %+v", s)
	}
}
