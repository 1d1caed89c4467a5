package upkeep

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// authorities makes the certificate authorities that are missing, as long as
// no server can have them on its disk. What a user provided is kept.
func (u *Upkeep) authorities(ctx context.Context, s *scope.Scope) error {
	if serversMayExist(s) {
		return nil
	}
	var errs []error
	_, legacy := s.ControlPlane.Annotations[controlplanev1.LegacyAnnotation]
	for _, purpose := range secrets.Purposes(legacy) {
		_, err := secrets.EnsureCA(ctx, u.Client, u.Live, s.ClusterKey(), purpose, desired.Controller(s.ControlPlane))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// token makes the token that nodes join with, under the same care.
func (u *Upkeep) token(ctx context.Context, s *scope.Scope) error {
	if serversMayExist(s) {
		return nil
	}
	_, err := secrets.EnsureToken(ctx, u.Client, u.Live, s.ClusterKey(), clusterController(s.Cluster))
	return err
}

// serversMayExist tells whether a server may have been made with the Secrets
// as they were. The annotation is written together with the first server and,
// unlike status, survives a move to another management cluster.
func serversMayExist(s *scope.Scope) bool {
	_, begun := s.ControlPlane.Annotations[controlplanev1.FirstServerByAnnotation]
	initialized := ptr.Deref(s.ControlPlane.Status.Initialization.ControlPlaneInitialized, false)
	return begun || initialized || len(s.Machines) > 0 || len(s.Foreign) > 0
}

func clusterController(cluster *clusterv1.Cluster) metav1.OwnerReference {
	return *metav1.NewControllerRef(cluster, clusterv1.GroupVersion.WithKind("Cluster"))
}
