package render

import (
	"fmt"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// checkFormat refuses a format of bootstrap data that does not exist.
func checkFormat(format bootstrapv1.Format) error {
	switch format {
	case "", bootstrapv1.CloudConfig, bootstrapv1.Ignition:
		return nil
	default:
		return fmt.Errorf("agentConfig.format %q is unknown; use cloud-config or ignition", format)
	}
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
	if in.Config.AgentConfig.AirGapped && in.Config.AgentConfig.Install != nil {
		list = append(list, "agentConfig.install has no effect with airGapped")
	}
	if proxy := in.Config.AgentConfig.Proxy; proxy != nil && len(proxy.NoProxy) > 0 && proxyEnvironment(in) == nil {
		list = append(list, "agentConfig.proxy.noProxy has no effect without httpProxy or httpsProxy")
	}
	return list
}
