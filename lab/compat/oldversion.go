package compat

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// throughOldVersion shows that a manifest in the old API version means the
// same: each of our objects is read in the old version, deleted, made again
// from nothing but that reading, and must then be the same in the new version.
// It is done in a namespace without a cluster, where nobody acts on it.
func (c *check) throughOldVersion(ctx context.Context) error {
	namespace := c.sample.name + "-" + oldVersion
	if err := c.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("make namespace %s: %w", namespace, err)
	}
	for _, o := range c.meant {
		if !isOurs(o) {
			continue
		}
		o = o.DeepCopy()
		o.SetNamespace(namespace)
		moveReferences(o.Object["spec"], c.sample.name, namespace)
		if err := c.oneThroughOldVersion(ctx, o); err != nil {
			return fmt.Errorf("%s through %s: %w", describe(o), oldVersion, err)
		}
	}
	return nil
}

func (c *check) oneThroughOldVersion(ctx context.Context, o *unstructured.Unstructured) error {
	if err := c.client.Create(ctx, o); err != nil {
		return err
	}
	old, err := c.oldReading(ctx, o)
	if err != nil {
		return err
	}
	if err := c.client.Delete(ctx, o); err != nil {
		return err
	}
	gone := func(ctx context.Context) (string, error) {
		err := c.client.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopy())
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it is still there", err
	}
	if err := waitFor(ctx, "its deletion", requestTimeout, gone); err != nil {
		return err
	}
	if err := c.client.Create(ctx, old); err != nil {
		return fmt.Errorf("make it from its %s reading: %w", oldVersion, err)
	}
	back := o.DeepCopy()
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(o), back); err != nil {
		return err
	}
	if changes := specDifference(o.Object["spec"], back.Object["spec"]); changes != "" {
		c.row.fault("%s means something else as %s: %s", describe(o), oldVersion, changes)
		c.oldDiffers = true
	}
	return nil
}

// moveReferences has references into one namespace name another.
func moveReferences(value any, from, to string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			moveReferences(item, from, to)
		}
	case map[string]any:
		if v["namespace"] == from {
			v["namespace"] = to
		}
		for _, inner := range v {
			moveReferences(inner, from, to)
		}
	}
}

// oldReading returns an object as somebody would write it in the old version:
// without anything that the server has added around its spec.
func (c *check) oldReading(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	read := &unstructured.Unstructured{}
	read.SetGroupVersionKind(o.GroupVersionKind().GroupKind().WithVersion(oldVersion))
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(o), read); err != nil {
		return nil, fmt.Errorf("read it as %s: %w", oldVersion, err)
	}
	old := &unstructured.Unstructured{Object: map[string]any{"spec": read.Object["spec"]}}
	old.SetGroupVersionKind(read.GroupVersionKind())
	old.SetNamespace(o.GetNamespace())
	old.SetName(o.GetName())
	old.SetLabels(o.GetLabels())
	return old, nil
}

// applyOldVersion applies our objects over the living ones as a repository would that still
// has them in the old version.
func (c *check) applyOldVersion(ctx context.Context) error {
	var old []*unstructured.Unstructured
	for _, o := range c.meant {
		if !isOurs(o) {
			continue
		}
		o = o.DeepCopy()
		if o.GetNamespace() == "" {
			o.SetNamespace(c.sample.name)
		}
		reading, err := c.oldReading(ctx, o)
		if err != nil {
			return err
		}
		reading.SetAnnotations(o.GetAnnotations())
		old = append(old, reading)
	}
	if len(old) == 0 || c.oldDiffers {
		return nil
	}
	text, err := join(old)
	if err != nil {
		return err
	}
	outcomes, _, err := c.kubectl.apply(ctx, text, old)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.refusal != "" {
			c.row.fault("%s refused as %s: %s", describe(o.object), oldVersion, o.refusal)
		}
	}
	return nil
}
