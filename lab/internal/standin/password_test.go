package standin

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/drover-project/drover/lab/internal/standin/supervisor"
)

func TestANameBelongsToTheFirstNodeUntilItIsDeleted(t *testing.T) {
	now := metav1.Now()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "rack-1", DeletionTimestamp: &now, Finalizers: []string{finalizerNode, finalizerEtcd}}}
	c := controllerWith(t, node)
	for range 2 {
		if err := c.EnsurePassword(t.Context(), "rack-1", "first"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.EnsurePassword(t.Context(), "rack-1", "second"); !errors.Is(err, supervisor.ErrPassword) {
		t.Errorf("another machine under the same name: %v", err)
	}
	if err := c.EnsurePassword(t.Context(), "rack-2", "second"); err != nil {
		t.Errorf("another name: %v", err)
	}
	if err := c.reconcile(t.Context(), "rack-1"); err != nil {
		t.Fatal(err)
	}
	if err := c.EnsurePassword(t.Context(), "rack-1", "second"); err != nil {
		t.Errorf("when the Node is gone: %v", err)
	}
}
