package bootstrap

import (
	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
	"github.com/drover-project/drover/internal/admission/serve"
)

// +kubebuilder:webhook:verbs=create;update,path=/mutate-bootstrap-cluster-x-k8s-io-v1beta2-rke2config,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=bootstrap.cluster.x-k8s.io,resources=rke2configs,versions=v1beta2,name=default.rke2config.bootstrap.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-bootstrap-cluster-x-k8s-io-v1beta2-rke2config,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=bootstrap.cluster.x-k8s.io,resources=rke2configs,versions=v1beta2,name=validation.rke2config.bootstrap.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/mutate-bootstrap-cluster-x-k8s-io-v1beta2-rke2configtemplate,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,groups=bootstrap.cluster.x-k8s.io,resources=rke2configtemplates,versions=v1beta2,name=default.rke2configtemplate.bootstrap.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1
// +kubebuilder:webhook:verbs=create;update,path=/validate-bootstrap-cluster-x-k8s-io-v1beta2-rke2configtemplate,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,groups=bootstrap.cluster.x-k8s.io,resources=rke2configtemplates,versions=v1beta2,name=validation.rke2configtemplate.bootstrap.cluster.x-k8s.io,sideEffects=None,admissionReviewVersions=v1

// SetupWithManager serves the webhooks of both kinds.
func SetupWithManager(mgr ctrl.Manager, crossNamespace bool) error {
	err := serve.Register(mgr, serve.Kind[*bootstrapv1.RKE2Config]{
		Empty:   func() *bootstrapv1.RKE2Config { return &bootstrapv1.RKE2Config{} },
		Default: func(c *bootstrapv1.RKE2Config) { Default(&c.Spec) },
		Validate: func(stored, object *bootstrapv1.RKE2Config) finding.List {
			return Config(stored, object, crossNamespace)
		},
	})
	if err != nil {
		return err
	}
	return serve.Register(mgr, serve.Kind[*bootstrapv1.RKE2ConfigTemplate]{
		Empty:   func() *bootstrapv1.RKE2ConfigTemplate { return &bootstrapv1.RKE2ConfigTemplate{} },
		Default: func(t *bootstrapv1.RKE2ConfigTemplate) { Default(&t.Spec.Template.Spec) },
		Validate: func(stored, object *bootstrapv1.RKE2ConfigTemplate) finding.List {
			return Template(stored, object, crossNamespace)
		},
	})
}
