package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/render"
	"github.com/drover-project/drover/internal/world/secrets"
)

// saveData writes the bootstrap data into the Secret that has the name of the config. When an earlier attempt wrote it
// and could not note that in the status, nobody has read it yet, and it is written anew. So are the data of a pool.
func (r *Reconciler) saveData(ctx context.Context, t *target, out *render.Output, annotations map[string]string) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       t.config.Namespace,
			Name:            t.config.Name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: t.cluster.Name},
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{t.controller()},
		},
		Type: secrets.Type,
		Data: map[string][]byte{
			bootstrapv1.DataSecretValueKey:  out.Data,
			bootstrapv1.DataSecretFormatKey: []byte(out.Format),
		},
	}
	err := r.Client.Create(ctx, secret)
	if err == nil {
		return nil
	}
	key := client.ObjectKeyFromObject(secret)
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Secret %s: %w", key, err)
	}
	found := &corev1.Secret{}
	if err := r.APIReader.Get(ctx, key, found); err != nil {
		return fmt.Errorf("get Secret %s: %w", key, err)
	}
	if ref := ownerOf(found, bootstrapv1.GroupVersion.Group, configKind); ref == nil || ref.Name != t.config.Name {
		return waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"Secret %s exists and does not belong to this RKE2Config; delete or rename it", key).lookAgain()
	}
	found.Labels, found.OwnerReferences, found.Data = secret.Labels, secret.OwnerReferences, secret.Data
	annotate(found, annotations)
	if err := r.Client.Update(ctx, found); err != nil {
		return fmt.Errorf("update Secret %s: %w", key, err)
	}
	return nil
}

// ownData repairs the owner of data that exist: another provider, or a backup, may have left a reference with another
// version or identity, and the Secret would go too early or never. The data themselves are never touched.
func (r *Reconciler) ownData(ctx context.Context, t *target) error {
	found := &corev1.Secret{}
	key := client.ObjectKey{Namespace: t.config.Namespace, Name: ptr.Deref(t.config.Status.DataSecretName, "")}
	err := r.Client.Get(ctx, key, found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get Secret %s: %w", key, err)
	}
	updated := found.DeepCopy()
	ref := ownerOf(updated, bootstrapv1.GroupVersion.Group, configKind)
	if ref == nil || ref.Name != t.config.Name {
		return nil
	}
	*ref = t.controller()
	if equality.Semantic.DeepEqual(found.OwnerReferences, updated.OwnerReferences) {
		return nil
	}
	if err := r.Client.Update(ctx, updated); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("set the owner of Secret %s: %w", key, err)
	}
	return nil
}

// controller is the owner reference of the data.
func (t *target) controller() metav1.OwnerReference {
	return *metav1.NewControllerRef(t.config, bootstrapv1.GroupVersion.WithKind(configKind))
}
