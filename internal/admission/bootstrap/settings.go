package bootstrap

import (
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
	ignition := spec.AgentConfig.Format == bootstrapv1.Ignition
	files(&l, path.Child("files"), spec.Files, ignition, policy)
	registries(&l, path.Child("privateRegistriesConfig"), &spec.PrivateRegistriesConfig, policy)
	agent(&l, path.Child("agentConfig"), &spec.AgentConfig, policy)
	return l
}

func files(l *finding.List, path *field.Path, files []bootstrapv1.File, ignition bool, policy reference.Policy) {
	for i := range files {
		at := path.Index(i)
		encoding := files[i].Encoding
		if ignition && (encoding == bootstrapv1.Gzip || encoding == bootstrapv1.GzipBase64) {
			l.Refuse(field.Invalid(at.Child("encoding"), encoding,
				"Ignition writes files as they are and does not unpack this one: give its content as plain text or base64"))
		}
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
}
