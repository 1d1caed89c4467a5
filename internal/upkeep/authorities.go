package upkeep

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// authorities makes the certificate authorities that are missing, as long as
// no server can have them on its disk. What a user provided is kept.
func (u *Upkeep) authorities(ctx context.Context, s *scope.Scope) error {
	if exist, err := u.serversMayExist(ctx, s); exist || err != nil {
		return err
	}
	var errs []error
	for _, purpose := range secrets.Purposes(s.ControlPlane.IsLegacy()) {
		_, err := secrets.EnsureCA(ctx, u.Client, u.Live, s.ClusterKey(), purpose, desired.Controller(s.ControlPlane))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// tokens makes the tokens that servers and workers join with, under the same
// care.
func (u *Upkeep) tokens(ctx context.Context, s *scope.Scope) error {
	if exist, err := u.serversMayExist(ctx, s); exist || err != nil {
		return err
	}
	owner := clusterController(s.Cluster)
	_, err := secrets.EnsureToken(ctx, u.Client, u.Live, s.ClusterKey(), owner)
	_, agentErr := secrets.EnsureAgentToken(ctx, u.Client, u.Live, s.ClusterKey(), owner)
	return errors.Join(err, agentErr)
}

// serversMayExist tells whether a server may have been made with the Secrets
// as they were. The annotations are written with the first server and when it
// has come up; unlike status, they survive a move to another management
// cluster. Machines are looked for past the cache, too: right after a move it
// may show the control plane before its Machines.
func (u *Upkeep) serversMayExist(ctx context.Context, s *scope.Scope) (bool, error) {
	if serversOnRecord(s) {
		return true, nil
	}
	owned, foreign, err := scope.Machines(ctx, u.Live, s.ControlPlane, s.Cluster.Name)
	return len(owned)+len(foreign) > 0, err
}

func serversOnRecord(s *scope.Scope) bool {
	_, begun := s.ControlPlane.Annotations[controlplanev1.FirstServerByAnnotation]
	return begun || s.InitializedOnRecord() || len(s.Machines) > 0 || len(s.Foreign) > 0
}

// recordInitialized keeps, where a move to another management cluster does not
// lose it, that the first server has come up.
func (u *Upkeep) recordInitialized(ctx context.Context, s *scope.Scope) error {
	if _, recorded := s.ControlPlane.Annotations[controlplanev1.InitializedAnnotation]; recorded || !s.InitializedOnRecord() {
		return nil
	}
	updated := s.ControlPlane.DeepCopy()
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	updated.Annotations[controlplanev1.InitializedAnnotation] = "true"
	if err := u.Client.Patch(ctx, updated, client.MergeFrom(s.ControlPlane)); err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	s.ControlPlane = updated
	return nil
}

func clusterController(cluster *clusterv1.Cluster) metav1.OwnerReference {
	return *metav1.NewControllerRef(cluster, clusterv1.GroupVersion.WithKind("Cluster"))
}
