package bootstrap

import (
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
	"github.com/drover-project/drover/internal/admission/reference"
)

// Settings checks the settings of a machine, which stand at a path of the
// object. Names of nodes are left to Config, Template and the control plane:
// what is wrong with them depends on how many machines share the settings.
func Settings(path *field.Path, spec *bootstrapv1.RKE2ConfigSpec, policy reference.Policy) finding.List {
	var l finding.List
	files(&l, path.Child("files"), spec.Files, policy)
	registries(&l, path.Child("privateRegistriesConfig"), &spec.PrivateRegistriesConfig, policy)
	agent(&l, path.Child("agentConfig"), &spec.AgentConfig, policy)
	return l
}

func files(l *finding.List, path *field.Path, files []bootstrapv1.File, policy reference.Policy) {
	for i := range files {
		at := path.Index(i)
		source := files[i].ContentFrom
		if source == nil {
			continue
		}
		from := at.Child("contentFrom")
		if source.Secret == nil && source.ConfigMap == nil {
			l.Refuse(field.Required(from, "name a secret or a configMap, or take contentFrom out"))
		}
		policy.Key(l, from.Child("secret"), reference.Secret, source.Secret)
		policy.Key(l, from.Child("configMap"), reference.ConfigMap, source.ConfigMap)
	}
}

func agent(l *finding.List, path *field.Path, agent *bootstrapv1.RKE2AgentConfig, policy reference.Policy) {
	policy.Object(l, path.Child("imageCredentialProviderConfigMap"), reference.ConfigMap, agent.ImageCredentialProviderConfigMap)
	policy.Object(l, path.Child("resolvConf"), reference.ConfigMap, agent.ResolvConf)
	userData(l, path.Child("additionalUserData"), agent)
	if kubelet := agent.Kubelet; kubelet != nil {
		at := path.Child("kubelet")
		if len(kubelet.ExtraMounts) > 0 {
			l.Warn(at.Child("extraMounts"), "has no effect: the kubelet is a process of the machine and sees all its files; take it out")
		}
		if kubelet.OverrideImage != "" {
			l.Warn(at.Child("overrideImage"), "has no effect: the kubelet is no container; use agentConfig.kubeletPath or agentConfig.runtimeImage")
		}
	}
	if agent.AirGappedChecksum != "" && !agent.AirGapped {
		l.Warn(path.Child("airGappedChecksum"), "has no effect without airGapped: true")
	}
	if agent.Install != nil && agent.AirGapped {
		l.Warn(path.Child("install"), "has no effect with airGapped: true")
	}
	if agent.Proxy != nil {
		proxy(l, path.Child("proxy"), agent.Proxy)
	}
}

// proxy checks that the settings of a proxy are what programs look for. The values are not repeated: they may hold a
// password.
func proxy(l *finding.List, path *field.Path, proxy *bootstrapv1.Proxy) {
	if len(proxy.NoProxy) > 0 && proxy.HTTPProxy == "" && proxy.HTTPSProxy == "" {
		l.Warn(path.Child("noProxy"), "has no effect without httpProxy or httpsProxy")
	}
	proxyURL(l, path.Child("httpProxy"), proxy.HTTPProxy)
	proxyURL(l, path.Child("httpsProxy"), proxy.HTTPSProxy)
	for i, host := range proxy.NoProxy {
		if host == "" || strings.ContainsAny(host, ", \t\n") {
			l.Refuse(field.Invalid(path.Child("noProxy").Index(i), host, "give one host, domain or address range in each entry"))
		}
	}
}

func proxyURL(l *finding.List, path *field.Path, value string) {
	if value == "" {
		return
	}
	parsed, err := url.Parse(value)
	if err != nil || parsed.Host == "" || !slices.Contains([]string{"http", "https", "socks5"}, parsed.Scheme) {
		l.Refuse(field.Invalid(path, "(not shown)", "give the URL of a proxy, such as http://proxy.example.org:3128"))
		return
	}
	if _, secret := parsed.User.Password(); secret {
		l.Warn(path, "holds a password, which everybody can read who can read this object: set the variables in a file of "+
			"the service instead, /etc/default/rke2-server or rke2-agent, with files[].contentFrom")
	}
}
