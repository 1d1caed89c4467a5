package conversion

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	bootstrapv1beta1 "github.com/drover-project/drover/api/bootstrap/v1beta1"
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// Options chooses the kinds whose conversion is served.
type Options struct {
	// Bootstrap and ControlPlane choose the providers.
	Bootstrap, ControlPlane bool
}

// SetupWithManager serves conversion at the path /convert of the manager's webhook server. The manager's scheme must
// know both versions of the chosen kinds.
func SetupWithManager(mgr ctrl.Manager, o Options) error {
	if o.Bootstrap {
		if err := serve(mgr, &bootstrapv1.RKE2Config{}, conversion.NewSpokeConverter(
			&bootstrapv1beta1.RKE2Config{}, configFromHub, configToHub)); err != nil {
			return err
		}
		if err := serve(mgr, &bootstrapv1.RKE2ConfigTemplate{}, conversion.NewSpokeConverter(
			&bootstrapv1beta1.RKE2ConfigTemplate{}, configTemplateFromHub, configTemplateToHub)); err != nil {
			return err
		}
	}
	if o.ControlPlane {
		if err := serve(mgr, &controlplanev1.RKE2ControlPlane{}, conversion.NewSpokeConverter(
			&controlplanev1beta1.RKE2ControlPlane{}, controlPlaneFromHub, controlPlaneToHub)); err != nil {
			return err
		}
		if err := serve(mgr, &controlplanev1.RKE2ControlPlaneTemplate{}, conversion.NewSpokeConverter(
			&controlplanev1beta1.RKE2ControlPlaneTemplate{}, controlPlaneTemplateFromHub, controlPlaneTemplateToHub)); err != nil {
			return err
		}
	}
	return nil
}

func serve[hub runtime.Object](mgr ctrl.Manager, kind hub, spoke conversion.SpokeConverter[hub]) error {
	err := ctrl.NewWebhookManagedBy(mgr, kind).WithConverter(conversion.NewHubSpokeConverter(kind, spoke)).Complete()
	if err != nil {
		return fmt.Errorf("conversion of %T: %w", kind, err)
	}
	return nil
}
