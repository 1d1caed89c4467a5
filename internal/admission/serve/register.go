package serve

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/drover-project/drover/internal/admission/finding"
)

// Kind is how objects of one kind are admitted.
type Kind[T client.Object] struct {
	// Empty returns an object without content.
	Empty func() T
	// Default sets what is not set. It is not called for objects that are
	// being deleted.
	Default func(T)
	// Validate finds what is wrong with an object. Stored is the object before
	// the change, nil on creation.
	Validate func(stored, object T) finding.List
}

// Register serves the webhooks of a kind at the manager's webhook server, under
// the paths controller-runtime gives them.
func Register[T client.Object](mgr ctrl.Manager, kind Kind[T]) error {
	gvk, err := apiutil.GVKForObject(kind.Empty(), mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("register admission webhooks: %w", err)
	}
	server := mgr.GetWebhookServer()
	server.Register(Path("mutate", gvk), &admission.Webhook{Handler: &defaulter[T]{
		decoder: admission.NewDecoder(mgr.GetScheme()), empty: kind.Empty, set: kind.Default,
	}})
	server.Register(Path("validate", gvk), admission.WithValidator[T](mgr.GetScheme(),
		&validator[T]{kind: gvk.GroupKind(), find: kind.Validate}))
	return nil
}

// Path is where the API server finds a webhook.
func Path(verb string, gvk schema.GroupVersionKind) string {
	return "/" + strings.Join([]string{verb, strings.ReplaceAll(gvk.Group, ".", "-"), gvk.Version, strings.ToLower(gvk.Kind)}, "-")
}
