package controlplane

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
	"github.com/drover-project/drover/internal/admission/serve"
)

// +kubebuilder:webhook:verbs=create;update,path=/mutate-controlplane-cluster-x-k8s-io-v1beta2-rke2controlplane,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=controlplane.cluster.x-k8s.io,resources=rke2controlplanes,versions=v1beta2,name=default.rke2controlplane.controlplane.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-controlplane-cluster-x-k8s-io-v1beta2-rke2controlplane,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=controlplane.cluster.x-k8s.io,resources=rke2controlplanes,versions=v1beta2,name=validation.rke2controlplane.controlplane.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=update,path=/validate-scale-controlplane-cluster-x-k8s-io-v1beta2-rke2controlplane,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=controlplane.cluster.x-k8s.io,resources=rke2controlplanes/scale,versions=v1beta2,name=validation-scale.rke2controlplane.controlplane.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/mutate-controlplane-cluster-x-k8s-io-v1beta2-rke2controlplanetemplate,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=controlplane.cluster.x-k8s.io,resources=rke2controlplanetemplates,versions=v1beta2,name=default.rke2controlplanetemplate.controlplane.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-controlplane-cluster-x-k8s-io-v1beta2-rke2controlplanetemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=controlplane.cluster.x-k8s.io,resources=rke2controlplanetemplates,versions=v1beta2,name=validation.rke2controlplanetemplate.controlplane.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager serves the webhooks of both kinds and of the scale
// subresource.
func SetupWithManager(mgr ctrl.Manager, crossNamespace bool) error {
	err := serve.Register(mgr, serve.Kind[*controlplanev1.RKE2ControlPlane]{
		Empty:   func() *controlplanev1.RKE2ControlPlane { return &controlplanev1.RKE2ControlPlane{} },
		Default: func(cp *controlplanev1.RKE2ControlPlane) { Default(&cp.Spec) },
		Validate: func(stored, object *controlplanev1.RKE2ControlPlane) finding.List {
			return Validate(stored, object, crossNamespace)
		},
	})
	if err != nil {
		return err
	}
	gvk := controlplanev1.GroupVersion.WithKind("RKE2ControlPlane")
	mgr.GetWebhookServer().Register(serve.Path("validate-scale", gvk), &admission.Webhook{Handler: &scaler{
		// Read directly: the number of servers is checked against what is stored now.
		reader: mgr.GetAPIReader(), decoder: admission.NewDecoder(mgr.GetScheme()), crossNamespace: crossNamespace,
	}})
	return serve.Register(mgr, serve.Kind[*controlplanev1.RKE2ControlPlaneTemplate]{
		Empty:   func() *controlplanev1.RKE2ControlPlaneTemplate { return &controlplanev1.RKE2ControlPlaneTemplate{} },
		Default: func(t *controlplanev1.RKE2ControlPlaneTemplate) { DefaultTemplate(&t.Spec.Template.Spec) },
		Validate: func(stored, object *controlplanev1.RKE2ControlPlaneTemplate) finding.List {
			return ValidateTemplate(stored, object, crossNamespace)
		},
	})
}
