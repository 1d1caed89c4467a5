package render

import (
	"fmt"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// unsupported returns an error for the first setting that is part of the API but cannot be rendered yet. A machine
// without it would not be what was asked for.
func unsupported(in *Input) error {
	for _, setting := range []struct {
		field string
		used  bool
	}{
		{"agentConfig.format: ignition", in.Config.AgentConfig.Format == bootstrapv1.Ignition},
	} {
		if setting.used {
			return fmt.Errorf("%s is not supported yet; take it out to bootstrap machines without it", setting.field)
		}
	}
	if format := in.Config.AgentConfig.Format; format != "" && format != bootstrapv1.CloudConfig {
		return fmt.Errorf("agentConfig.format %q is unknown; use cloud-config", format)
	}
	return nil
}

// warnings names settings that are accepted for compatibility but have no effect.
func warnings(in *Input) []string {
	var list []string
	if kubelet := in.Config.AgentConfig.Kubelet; kubelet != nil {
		if len(kubelet.ExtraMounts) > 0 {
			list = append(list, "agentConfig.kubelet.extraMounts has no effect: the kubelet is a process of the host")
		}
		if kubelet.OverrideImage != "" {
			list = append(list, "agentConfig.kubelet.overrideImage has no effect: use kubeletPath or runtimeImage")
		}
	}
	if !in.Config.AgentConfig.AirGapped && in.Config.AgentConfig.AirGappedChecksum != "" {
		list = append(list, "agentConfig.airGappedChecksum has no effect without airGapped")
	}
	return list
}
