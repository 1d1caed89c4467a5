package serve

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/util/topology"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/drover-project/drover/internal/admission/finding"
)

// validator answers with what the rules find.
type validator[T client.Object] struct {
	kind schema.GroupKind
	// find gets the stored object too, which is nil on creation.
	find func(stored, object T) finding.List
}

// ValidateCreate checks a new object. Nothing is refused to one that comes with
// an owner: a controller copies settings that were admitted already, or the
// object is brought from another management cluster or out of a backup. It may
// be older than the rule it breaks, and refusing it would keep a control plane
// from replacing a dead server, or stop a move half way. What must never be
// done, the controllers refuse again.
func (v *validator[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	var none T
	found := v.find(none, object)
	if hasOwner(object) {
		found = found.Soften("not refused because the object has an owner")
	}
	return v.answer(ctx, object, found)
}

// hasOwner leaves out the Secret that the topology controller makes the owner of
// new objects until their Cluster is.
func hasOwner(object client.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.Kind != "Secret" })
}

// ValidateUpdate checks a change. Nothing is refused to an object that is being
// deleted, or its finalizers could not be taken off.
func (v *validator[T]) ValidateUpdate(ctx context.Context, stored, object T) (admission.Warnings, error) {
	if !object.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	return v.answer(ctx, object, v.find(stored, object))
}

// ValidateDelete lets every deletion pass.
func (v *validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

func (v *validator[T]) answer(ctx context.Context, object T, found finding.List) (admission.Warnings, error) {
	warnings := found.Warnings
	// The topology controller tries every change out before it makes it, at
	// each reconcile, and shows the warnings to nobody.
	if request, err := admission.RequestFromContext(ctx); err == nil && topology.IsDryRunRequest(request, object) {
		warnings = nil
	}
	if len(found.Errors) == 0 {
		return warnings, nil
	}
	return warnings, apierrors.NewInvalid(v.kind, object.GetName(), found.Errors)
}
