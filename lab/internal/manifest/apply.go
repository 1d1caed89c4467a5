package manifest

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner names the lab in the objects' managed fields.
const fieldOwner = "lab"

// Apply applies the objects by server-side apply: namespaces first, the others
// in their order. An object without a namespace goes to the namespace default
// if its kind has namespaces.
func Apply(ctx context.Context, c client.Client, objects []Object) error {
	ordered := slices.Clone(objects)
	slices.SortStableFunc(ordered, func(a, b Object) int { return rank(a) - rank(b) })
	for _, o := range ordered {
		namespaced, err := c.IsObjectNamespaced(o.Unstructured)
		if err != nil {
			return fmt.Errorf("apply %s: %w", o, err)
		}
		object := o.DeepCopy()
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace("default")
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s: %w", o, err)
		}
	}
	return nil
}

func rank(o Object) int {
	if o.GetKind() == "Namespace" {
		return 0
	}
	return 1
}
