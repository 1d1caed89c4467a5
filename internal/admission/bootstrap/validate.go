package bootstrap

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
	"github.com/drover-project/drover/internal/admission/reference"
)

// Config checks an RKE2Config. Stored is the object before a change, nil when
// it is created. CrossNamespace allows references to other namespaces.
func Config(stored, object *bootstrapv1.RKE2Config, crossNamespace bool) finding.List {
	check := func(c *bootstrapv1.RKE2Config) finding.List {
		return Settings(field.NewPath("spec"), &c.Spec, reference.Policy{Namespace: c.Namespace, CrossNamespace: crossNamespace})
	}
	found := check(object)
	if stored == nil {
		return found
	}
	return found.Ratchet(check(stored))
}

// Template checks an RKE2ConfigTemplate, as Config does. It may be changed like
// Cluster API's own KubeadmConfigTemplate: a change reaches machines made later.
func Template(stored, object *bootstrapv1.RKE2ConfigTemplate, crossNamespace bool) finding.List {
	check := func(t *bootstrapv1.RKE2ConfigTemplate) finding.List {
		template := field.NewPath("spec", "template")
		found := finding.List{Errors: t.Spec.Template.ObjectMeta.Validate(template.Child("metadata"))}
		settings := template.Child("spec")
		found.Add(Settings(settings, &t.Spec.Template.Spec, reference.Policy{Namespace: t.Namespace, CrossNamespace: crossNamespace}))
		if name := t.Spec.Template.Spec.AgentConfig.NodeName; IsConstant(name) {
			found.Warn(settings.Child("agentConfig", "nodeName"), "%q: every machine made from this template asks for this one name, and only one "+
				"can have it; use a cloud-init variable such as {{ ds.meta_data.local_hostname }}, or take it out", name)
		}
		return found
	}
	found := check(object)
	if stored == nil {
		return found
	}
	return found.Ratchet(check(stored))
}

// IsConstant tells whether a node name is the same on each machine it is given
// to, having no variable of cloud-init in it.
func IsConstant(name string) bool {
	return name != "" && !strings.Contains(name, "{{")
}
