package outside

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Whatever is called, nothing is sent that could change anything: there is
// nobody at the address, and no attempt is made.
func TestNothingIsWritten(t *testing.T) {
	c, err := New(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "c"}}
	patch := client.MergeFrom(secret.DeepCopy())
	for name, err := range map[string]error{
		"create":        c.Create(ctx, secret),
		"update":        c.Update(ctx, secret),
		"delete":        c.Delete(ctx, secret),
		"delete all":    c.DeleteAllOf(ctx, secret),
		"patch":         c.Patch(ctx, secret, patch),
		"apply":         c.Apply(ctx, corev1apply.Secret("c", "demo")),
		"status":        c.Status().Update(ctx, secret),
		"status patch":  c.Status().Patch(ctx, secret, patch),
		"status apply":  c.Status().Apply(ctx, corev1apply.Secret("c", "demo")),
		"status create": c.Status().Create(ctx, secret, secret),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
