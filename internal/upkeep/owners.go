package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// secretOwners gives the cluster's Secrets to their owners: without owner
// references they would outlive the cluster, and a restored backup has them
// with identities that no longer exist. A Secret that a user provided is of
// another type and stays the user's.
func (u *Upkeep) secretOwners(ctx context.Context, s *scope.Scope) error {
	names := secrets.Names(s.Cluster.Name)
	controlPlane, cluster := desired.Controller(s.ControlPlane), clusterController(s.Cluster)
	owners := map[string]metav1.OwnerReference{names.Token: cluster, names.Kubeconfig: controlPlane}
	_, legacy := s.ControlPlane.Annotations[controlplanev1.LegacyAnnotation]
	for _, purpose := range secrets.Purposes(legacy) {
		owners[secrets.CAName(s.Cluster.Name, purpose)] = controlPlane
	}
	var all []string
	for name := range owners {
		all = append(all, name)
	}
	slices.Sort(all)
	return each(all, "Secret", func(name string) error {
		return u.own(ctx, client.ObjectKey{Namespace: s.Cluster.Namespace, Name: name}, owners[name])
	})
}

func (u *Upkeep) own(ctx context.Context, key client.ObjectKey, owner metav1.OwnerReference) error {
	secret := &corev1.Secret{}
	err := u.Client.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if secret.Type != secrets.Type {
		return nil
	}
	refs, changed := withController(secret.OwnerReferences, owner)
	if !changed {
		return nil
	}
	updated := secret.DeepCopy()
	updated.OwnerReferences = refs
	patch := client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{})
	if err := u.Client.Patch(ctx, updated, patch); err != nil {
		return fmt.Errorf("set the owner: %w", err)
	}
	return nil
}

// withController returns the references with the owner as controller, and
// whether that is a change. A controller that is something else stays.
func withController(refs []metav1.OwnerReference, owner metav1.OwnerReference) ([]metav1.OwnerReference, bool) {
	for i, ref := range refs {
		switch {
		case sameObject(ref, owner) && ref.UID == owner.UID:
			return refs, false
		case sameObject(ref, owner):
			out := slices.Clone(refs)
			out[i] = owner
			return out, true
		case ref.Controller != nil && *ref.Controller:
			return refs, false
		}
	}
	return append(slices.Clone(refs), owner), true
}

// sameObject compares references by what they name, whatever version they
// name it in.
func sameObject(a, b metav1.OwnerReference) bool {
	group := func(ref metav1.OwnerReference) string {
		g, _, _ := strings.Cut(ref.APIVersion, "/")
		return g
	}
	return a.Kind == b.Kind && a.Name == b.Name && group(a) == group(b)
}

// oursToChange tells whether the content of a Secret is ours to renew: we, or
// the provider the cluster was taken over from, made it.
func oursToChange(secret *corev1.Secret, s *scope.Scope) bool {
	controller := metav1.GetControllerOf(secret)
	if controller == nil {
		return secret.Type == secrets.Type
	}
	return sameObject(*controller, desired.Controller(s.ControlPlane))
}

// templateOwner lets the infrastructure template go with the Cluster, and be
// moved with it.
func (u *Upkeep) templateOwner(ctx context.Context, s *scope.Scope) error {
	template := s.Template.Object
	if template == nil || !template.GetDeletionTimestamp().IsZero() {
		return nil
	}
	owner := metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(),
		Kind:       "Cluster",
		Name:       s.Cluster.Name,
		UID:        s.Cluster.UID,
	}
	refs := template.GetOwnerReferences()
	i := slices.IndexFunc(refs, func(ref metav1.OwnerReference) bool { return sameObject(ref, owner) })
	switch {
	case i >= 0 && refs[i].UID == owner.UID:
		return nil
	case i >= 0:
		refs = slices.Clone(refs)
		refs[i] = owner
	default:
		refs = append(slices.Clone(refs), owner)
	}
	updated := template.DeepCopy()
	updated.SetOwnerReferences(refs)
	patch := client.MergeFromWithOptions(template, client.MergeFromWithOptimisticLock{})
	if err := u.Client.Patch(ctx, updated, patch); err != nil {
		return fmt.Errorf("%s: %w", s.Template, err)
	}
	return nil
}
