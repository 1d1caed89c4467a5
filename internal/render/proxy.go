package render

import (
	"slices"
	"strings"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// RKE2's defaults for what a Cluster does not say (https://docs.rke2.io/reference/server_config).
const (
	defaultPodCIDR     = "10.42.0.0/16"
	defaultServiceCIDR = "10.43.0.0/16"
	defaultDomain      = "cluster.local"
)

// proxyEnvironment returns the variables that programs find their proxies in; nil without any proxy. What belongs to the
// cluster is never reached through one.
func proxyEnvironment(in *Input) map[string]string {
	proxy := in.Config.AgentConfig.Proxy
	if proxy == nil || proxy.HTTPProxy == "" && proxy.HTTPSProxy == "" {
		return nil
	}
	env := map[string]string{"NO_PROXY": strings.Join(noProxy(in, proxy), ",")}
	if proxy.HTTPProxy != "" {
		env["HTTP_PROXY"] = proxy.HTTPProxy
	}
	if proxy.HTTPSProxy != "" {
		env["HTTPS_PROXY"] = proxy.HTTPSProxy
	}
	return env
}

func noProxy(in *Input, proxy *bootstrapv1.Proxy) []string {
	or := func(values []string, fallback string) []string {
		if len(values) == 0 {
			return []string{fallback}
		}
		return values
	}
	domain := defaultDomain
	for _, set := range []string{in.Cluster.Domain, in.Server.ClusterDomain} {
		if set != "" {
			domain = set
		}
	}
	all := slices.Concat(proxy.NoProxy, []string{"localhost", "127.0.0.0/8", "::1"},
		or(in.Cluster.PodCIDRs, defaultPodCIDR), or(in.Cluster.ServiceCIDRs, defaultServiceCIDR),
		[]string{".svc", "." + domain, in.Cluster.EndpointHost, in.Cluster.RegistrationHost, in.JoinAddress})
	var out []string
	for _, host := range all {
		if host != "" && !slices.Contains(out, host) {
			out = append(out, host)
		}
	}
	return out
}

// exportProxy sets the variables for the commands of the script. Programs differ in whether they look for capitals:
// curl takes the small http_proxy only.
func exportProxy(b *strings.Builder, in *Input) {
	env := proxyEnvironment(in)
	for _, name := range sortedKeys(env) {
		value := quote(env[name])
		b.WriteString("export " + name + "=" + value + " " + strings.ToLower(name) + "=" + value + "\n")
	}
}
