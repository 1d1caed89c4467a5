package upkeep

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
)

// infrastructure brings labels and annotations of the template to the
// infrastructure machines.
func (u *Upkeep) infrastructure(ctx context.Context, s *scope.Scope) error {
	return each(s.Names(), "infrastructure of Machine", func(name string) error {
		infra, ok := s.Infrastructure[name]
		if !ok || infra.Object == nil || !s.Machines[name].DeletionTimestamp.IsZero() {
			return nil
		}
		return u.metadata(ctx, s, infra.Object, infra.Object.GroupVersionKind())
	})
}

// configs brings labels and annotations of the template to the RKE2Configs.
func (u *Upkeep) configs(ctx context.Context, s *scope.Scope) error {
	return each(s.Names(), "RKE2Config of Machine", func(name string) error {
		config, ok := s.Configs[name]
		if !ok || !s.Machines[name].DeletionTimestamp.IsZero() {
			return nil
		}
		return u.metadata(ctx, s, config, bootstrapv1.GroupVersion.WithKind("RKE2Config"))
	})
}

// metadata applies labels and annotations, and only them, when that changes
// something. What was applied before and is no longer wanted is taken away
// explicitly: the request that created the object owns it as well, and would
// keep it.
func (u *Upkeep) metadata(ctx context.Context, s *scope.Scope, obj client.Object, kind schema.GroupVersionKind) error {
	if !obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	owned := appliedBy(obj, controlplanev1.MetadataFieldManager).at("metadata")
	labels := desired.Labels(s.ControlPlane, s.Cluster.Name)
	annotations := desired.Annotations(s.ControlPlane)
	// Without the record of its template an infrastructure machine counts as
	// up to date. It is kept, whoever applied it.
	for _, key := range []string{clusterv1.TemplateClonedFromNameAnnotation, clusterv1.TemplateClonedFromGroupKindAnnotation} {
		if value, ok := obj.GetAnnotations()[key]; ok && owned.owns("annotations", key) {
			annotations[key] = value
		}
	}
	if err := u.dropUnwanted(ctx, obj, unwanted(owned.at("labels"), labels), unwanted(owned.at("annotations"), annotations)); err != nil {
		return err
	}
	if holds(obj.GetLabels(), labels, owned.at("labels")) && holds(obj.GetAnnotations(), annotations, owned.at("annotations")) {
		return nil
	}
	wanted := &unstructured.Unstructured{}
	wanted.SetGroupVersionKind(kind)
	wanted.SetNamespace(obj.GetNamespace())
	wanted.SetName(obj.GetName())
	// With the identity in it, the apply can't create the object anew.
	wanted.SetUID(obj.GetUID())
	wanted.SetLabels(labels)
	wanted.SetAnnotations(annotations)
	return u.apply(ctx, wanted, controlplanev1.MetadataFieldManager)
}

func (u *Upkeep) dropUnwanted(ctx context.Context, obj client.Object, labels, annotations []string) error {
	if len(labels)+len(annotations) == 0 {
		return nil
	}
	updated := obj.DeepCopyObject().(client.Object)
	updated.SetLabels(without(obj.GetLabels(), labels))
	updated.SetAnnotations(without(obj.GetAnnotations(), annotations))
	if err := u.Client.Patch(ctx, updated, client.MergeFrom(obj)); err != nil {
		return fmt.Errorf("take away labels and annotations: %w", err)
	}
	return nil
}

func without(have map[string]string, keys []string) map[string]string {
	out := maps.Clone(have)
	for _, key := range keys {
		delete(out, key)
	}
	return out
}
