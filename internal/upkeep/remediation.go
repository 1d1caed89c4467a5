package upkeep

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
)

// remediationServed takes the record of a replacement off the control plane
// when the new server carries it, when the server that was to be replaced stays
// because it is healthy again, or when there are enough servers without one.
func (u *Upkeep) remediationServed(ctx context.Context, s *scope.Scope) error {
	text, there := s.ControlPlane.Annotations[controlplanev1.RemediationInProgressAnnotation]
	if !there || stillToServe(s) {
		return nil
	}
	updated := s.ControlPlane.DeepCopy()
	delete(updated.Annotations, controlplanev1.RemediationInProgressAnnotation)
	patch := client.MergeFromWithOptions(s.ControlPlane, client.MergeFromWithOptimisticLock{})
	if err := u.Client.Patch(ctx, updated, patch); err != nil {
		return fmt.Errorf("take the record %s off: %w", text, err)
	}
	s.ControlPlane = updated
	return nil
}

// stillToServe tells whether the record stands for a replacement to come. One
// that can't be read stands for none.
func stillToServe(s *scope.Scope) bool {
	record, ok := desired.RemediationInProgress(s.ControlPlane)
	if !ok || desired.Served(record, s.Machines) {
		return false
	}
	victim, there := s.Machines[record.Machine]
	if there && victim.DeletionTimestamp.IsZero() {
		return desired.Marked(victim)
	}
	return staying(s) < int(s.ControlPlane.Spec.ReplicasOrDefault())
}

func staying(s *scope.Scope) int {
	return len(s.Machines.Filter(collections.Not(collections.HasDeletionTimestamp)))
}
