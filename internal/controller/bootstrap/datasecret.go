package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/render"
	"github.com/drover-project/drover/internal/world/secrets"
)

// saveData writes the bootstrap data into the Secret that has the name of the config. When an earlier attempt wrote it
// and could not note that in the status, nobody has read it yet, and it is written anew.
func (r *Reconciler) saveData(ctx context.Context, t *target, out *render.Output) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: t.config.Namespace,
			Name:      t.config.Name,
			Labels:    map[string]string{clusterv1.ClusterNameLabel: t.cluster.Name},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(t.config, bootstrapv1.GroupVersion.WithKind(configKind)),
			},
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
	if owner := metav1.GetControllerOf(found); owner == nil || owner.UID != t.config.UID {
		return waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"Secret %s exists and does not belong to this RKE2Config; delete or rename it", key).lookAgain()
	}
	found.Labels, found.Data = secret.Labels, secret.Data
	if err := r.Client.Update(ctx, found); err != nil {
		return fmt.Errorf("update Secret %s: %w", key, err)
	}
	return nil
}
