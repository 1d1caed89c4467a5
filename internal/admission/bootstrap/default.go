package bootstrap

import (
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// Default sets what is not set in the settings of a machine.
func Default(spec *bootstrapv1.RKE2ConfigSpec) {
	if spec.AgentConfig.Format == "" {
		spec.AgentConfig.Format = bootstrapv1.CloudConfig
	}
}
