package controlplane

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/bootstrap"
	"github.com/drover-project/drover/internal/admission/finding"
	"github.com/drover-project/drover/internal/admission/reference"
)

// ValidateTemplate checks a template, as Validate does a control plane. A
// template may be changed in place, as users of other providers for RKE2 do: a
// warning tells how far the change reaches.
func ValidateTemplate(stored, object *controlplanev1.RKE2ControlPlaneTemplate, crossNamespace bool) finding.List {
	found := checkTemplate(object, crossNamespace)
	if stored == nil {
		return found
	}
	found = found.Ratchet(checkTemplate(stored, crossNamespace))
	path := field.NewPath("spec", "template", "spec")
	if !apiequality.Semantic.DeepEqual(stored.Spec.Template.Spec, object.Spec.Template.Spec) {
		found.Warn(path, "the change reaches every Cluster of the ClusterClasses that use this template at once: "+
			"to go cluster by cluster, create a template with a new name and let the ClusterClass name it")
	}
	return found
}

func checkTemplate(t *controlplanev1.RKE2ControlPlaneTemplate, crossNamespace bool) finding.List {
	template := field.NewPath("spec", "template")
	l := finding.List{Errors: t.Spec.Template.ObjectMeta.Validate(template.Child("metadata"))}
	common, path := templateSettings(&t.Spec.Template.Spec), template.Child("spec")
	l.Add(common.check(path, reference.Policy{Namespace: t.Namespace, CrossNamespace: crossNamespace}))
	if name := t.Spec.Template.Spec.AgentConfig.NodeName; bootstrap.IsConstant(name) {
		l.Warn(path.Child("agentConfig", "nodeName"), "%q: only one node can have this name, so control planes made from this template "+
			"can have one server and no upgrade; use a cloud-init variable such as {{ ds.meta_data.local_hostname }}, or take it out", name)
	}
	return l
}
