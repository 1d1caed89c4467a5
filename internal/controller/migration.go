package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/controllers/crdmigrator"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// addMigration rewrites objects that are stored in an older API version, and
// drops versions that are served no more from their managed fields. It concerns
// all objects of a kind, so a manager of one namespace does not do it.
func addMigration(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if o.Namespace != "" {
		return nil
	}
	kinds := map[client.Object]crdmigrator.ByObjectConfig{}
	if o.Bootstrap {
		kinds[&bootstrapv1.RKE2Config{}] = crdmigrator.ByObjectConfig{UseCache: true, UseStatusForStorageVersionMigration: true}
		kinds[&bootstrapv1.RKE2ConfigTemplate{}] = crdmigrator.ByObjectConfig{}
	}
	if o.ControlPlane {
		kinds[&controlplanev1.RKE2ControlPlane{}] = crdmigrator.ByObjectConfig{UseCache: true, UseStatusForStorageVersionMigration: true}
		kinds[&controlplanev1.RKE2ControlPlaneTemplate{}] = crdmigrator.ByObjectConfig{}
	}
	migrator := &crdmigrator.CRDMigrator{
		Client:                 mgr.GetClient(),
		APIReader:              mgr.GetAPIReader(),
		SkipCRDMigrationPhases: o.SkipMigrationPhases,
		Config:                 kinds,
	}
	// One at a time: a migration touches every object of a kind.
	if err := migrator.SetupWithManager(ctx, mgr, controller.Options{MaxConcurrentReconciles: 1}); err != nil {
		return fmt.Errorf("set up the migration of stored objects: %w", err)
	}
	return nil
}
