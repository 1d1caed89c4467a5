package scope

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// External is an object of an infrastructure provider that was looked up.
// Exactly one of Object, Missing and Err is set.
type External struct {
	// Ref is what was looked up.
	Ref clusterv1.ContractVersionedObjectReference
	// Object is the object, if it exists.
	Object *unstructured.Unstructured
	// Missing is true when the API server answered that there is none.
	Missing bool
	// Err is why it can't be told, for example an unknown kind.
	Err error
}

// String names the object as in "LabMachine cp-1".
func (e External) String() string { return e.Ref.Kind + " " + e.Ref.Name }

// referenceReader resolves contract-versioned references. The definition that
// tells the version rarely changes and comes from the cache; the object does
// not.
type referenceReader struct {
	objects     client.Reader
	definitions client.Reader
}

// LookUp finds the object that a reference leads to, in a namespace. The version comes from the definition, which is
// read through the second reader and may come from a cache.
func LookUp(ctx context.Context, objects, definitions client.Reader, ref clusterv1.ContractVersionedObjectReference,
	namespace string) External {
	return referenceReader{objects: objects, definitions: definitions}.get(ctx, ref, namespace)
}

func (r referenceReader) get(ctx context.Context, ref clusterv1.ContractVersionedObjectReference, namespace string) External {
	e := External{Ref: ref}
	if !ref.IsDefined() {
		e.Err = fmt.Errorf("the reference is not set")
		return e
	}
	obj, err := external.GetObjectFromContractVersionedRef(ctx, r, ref, namespace)
	switch {
	case apierrors.IsNotFound(err):
		e.Missing = true
	case err != nil:
		e.Err = fmt.Errorf("read %s %s/%s: %w", ref.Kind, namespace, ref.Name, err)
	default:
		e.Object = obj
	}
	return e
}

// Get implements client.Reader.
func (r referenceReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return r.definitions.Get(ctx, key, obj, opts...)
	}
	return r.objects.Get(ctx, key, obj, opts...)
}

// List implements client.Reader.
func (r referenceReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return r.objects.List(ctx, list, opts...)
}
