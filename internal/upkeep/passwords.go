package upkeep

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

const (
	// passwordSuffix ends the names of the Secrets in which RKE2 keeps what a
	// node proves with that a name is its own.
	passwordSuffix = ".node-password.rke2"
	// passwordUnused is how old such a Secret has to be to count as left
	// behind. A node that joins has one before it has a Node.
	passwordUnused = 10 * time.Minute
)

// passwords takes away the passwords of nodes that are gone: a new host of the
// same name, which has another password, would be refused for ever. RKE2 does so
// when it sees a Node deleted, and since v1.34.2 also when it missed that
// (rancher/rke2#9165). Taking one away too early costs nothing: the node that
// has it brings it again.
func (u *Upkeep) passwords(ctx context.Context, s *scope.Scope) error {
	now := u.Now()
	if !u.swept.due(s.Cluster.UID, now) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, workload.CallTimeout)
	defer cancel()
	c, err := connected(ctx, s, u.Nodes.GetUncachedClient)
	if c == nil {
		return err
	}
	// The names are enough: the passwords are not read.
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := c.List(ctx, secrets, client.InNamespace(workload.SystemNamespace)); err != nil {
		return fmt.Errorf("list Secrets of cluster %s: %w", s.ClusterKey(), err)
	}
	for i := range secrets.Items {
		if err := dropPassword(ctx, c, &secrets.Items[i], now); err != nil {
			return err
		}
	}
	u.swept.set(s.Cluster.UID, now, now.Add(passwordUnused))
	return nil
}

// dropPassword deletes the Secret when it is an old one of a node that does not
// exist.
func dropPassword(ctx context.Context, c client.Client, secret *metav1.PartialObjectMetadata, now time.Time) error {
	node, isPassword := strings.CutSuffix(secret.Name, passwordSuffix)
	if !isPassword || now.Sub(secret.CreationTimestamp.Time) < passwordUnused {
		return nil
	}
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	err := c.Get(ctx, client.ObjectKey{Name: node}, meta)
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read Node %s: %w", node, err)
	}
	gone := client.Preconditions{UID: &secret.UID}
	if err := c.Delete(ctx, secret, gone); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete Secret %s/%s of a node that is gone: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}
