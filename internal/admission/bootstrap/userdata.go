package bootstrap

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
)

// insteadOf are the keys of a cloud-config that the provider writes itself,
// with the fields that add to them.
var insteadOf = map[string]string{
	"write_files": "files", "runcmd": "preRKE2Commands and postRKE2Commands", "ntp": "agentConfig.ntp",
}

// userData checks user data of the user's own. It may hold secrets, so nothing
// of it is repeated.
func userData(l *finding.List, path *field.Path, agent *bootstrapv1.RKE2AgentConfig) {
	extra := &agent.AdditionalUserData
	var document map[string]any
	if err := yaml.Unmarshal([]byte(extra.Config), &document); err != nil {
		l.Refuse(field.Invalid(path.Child("config"), field.OmitValueType{},
			"this is not a YAML map: give a whole document, such as a cloud-config or, with format ignition, a Butane config"))
	}
	if agent.Format == bootstrapv1.Ignition {
		if len(extra.Data) > 0 {
			l.Warn(path.Child("data"), "has no effect with format ignition: its keys are those of a cloud-config; use config with a Butane document")
		}
		return
	}
	if extra.Strict {
		l.Warn(path.Child("strict"), "has no effect without format ignition")
	}
	for _, key := range slices.Sorted(maps.Keys(insteadOf)) {
		_, inConfig := document[key]
		_, inData := extra.Data[key]
		switch {
		case inConfig:
			l.Warn(path.Child("config"), "its %s has no effect, because the provider writes that part: use %s", key, insteadOf[key])
		case inData:
			l.Warn(path.Child("data").Key(key), "has no effect, because the provider writes that part: use %s", insteadOf[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(extra.Data)) {
		var value any
		if err := yaml.Unmarshal([]byte(extra.Data[key]), &value); err != nil {
			l.Refuse(field.Invalid(path.Child("data").Key(key), field.OmitValueType{}, "this is not YAML: give the value of the key as YAML text"))
		}
	}
}
