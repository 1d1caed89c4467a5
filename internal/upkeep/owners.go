package upkeep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// secretOwners gives the cluster's Secrets to their owners: without owner
// references they would outlive the cluster, and a restored backup has them
// with identities that no longer exist. A Secret that a user provided is of
// another type and stays the user's; it is only marked to be moved along with
// the cluster.
func (u *Upkeep) secretOwners(ctx context.Context, s *scope.Scope) error {
	names := secrets.Names(s.Cluster.Name)
	controlPlane, cluster := desired.Controller(s.ControlPlane), clusterController(s.Cluster)
	owners := map[string]metav1.OwnerReference{names.Token: cluster, names.AgentToken: cluster, names.Kubeconfig: controlPlane}
	for _, purpose := range s.Authorities() {
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
	updated := secret.DeepCopy()
	if madeByProvider(secret, owner) {
		updated.OwnerReferences = withController(secret.OwnerReferences, owner)
	} else {
		updated.Labels = movable(secret)
	}
	if equality.Semantic.DeepEqual(secret.ObjectMeta, updated.ObjectMeta) {
		return nil
	}
	patch := client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{})
	if err := u.Client.Patch(ctx, updated, patch); err != nil {
		return fmt.Errorf("set the owner: %w", err)
	}
	return nil
}

// madeByProvider tells a Secret that a provider made from one that a user
// brought: by its type or, since the kubeconfig of another provider has the
// type of any Secret, by its controller.
func madeByProvider(secret *corev1.Secret, owner metav1.OwnerReference) bool {
	controller := metav1.GetControllerOf(secret)
	return secret.Type == secrets.Type || controller != nil && (sameObject(*controller, owner) || isConfig(*controller))
}

// moveLabel makes clusterctl move an object that no Cluster owns.
const moveLabel = "clusterctl.cluster.x-k8s.io/move"

// movable are the labels of a Secret that a user brought. Without an owner
// clusterctl finds the way from a Cluster to a Secret by Cluster API's own
// names only, and two of ours are not among them.
func movable(secret *corev1.Secret) map[string]string {
	if len(secret.OwnerReferences) > 0 {
		return secret.Labels
	}
	out := maps.Clone(secret.Labels)
	if out == nil {
		out = map[string]string{}
	}
	if _, there := out[moveLabel]; !there {
		out[moveLabel] = ""
	}
	return out
}

// withController returns the references with the owner as controller. A
// controller that is something else stays, except for an RKE2Config: the
// Secrets of a whole cluster must not go with the config of one server.
func withController(refs []metav1.OwnerReference, owner metav1.OwnerReference) []metav1.OwnerReference {
	var out []metav1.OwnerReference
	there := false
	for _, ref := range refs {
		switch {
		case sameObject(ref, owner):
			if !there {
				out = append(out, owner)
			}
			there = true
		case ref.Controller != nil && *ref.Controller && isConfig(ref):
		case ref.Controller != nil && *ref.Controller:
			return refs
		default:
			out = append(out, ref)
		}
	}
	if !there {
		out = append(out, owner)
	}
	return out
}

func isConfig(ref metav1.OwnerReference) bool {
	return ref.Kind == "RKE2Config" && groupOf(ref) == bootstrapv1.GroupVersion.Group
}

// sameObject compares references by what they name, whatever version they
// name it in.
func sameObject(a, b metav1.OwnerReference) bool {
	return a.Kind == b.Kind && a.Name == b.Name && groupOf(a) == groupOf(b)
}

func groupOf(ref metav1.OwnerReference) string {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return group
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
	case i >= 0 && refs[i].UID == owner.UID && refs[i].APIVersion == owner.APIVersion:
		return nil
	case i >= 0:
		refs = slices.Clone(refs)
		refs[i].UID, refs[i].APIVersion = owner.UID, owner.APIVersion
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
