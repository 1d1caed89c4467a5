package controlplane

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/bootstrap"
	"github.com/drover-project/drover/internal/admission/finding"
	"github.com/drover-project/drover/internal/admission/reference"
)

// settings are what control planes and their templates have in common.
type settings struct {
	config              *bootstrapv1.RKE2ConfigSpec
	machineTemplate     *controlplanev1.RKE2ControlPlaneMachineTemplate
	server              *controlplanev1.RKE2ServerConfig
	manifests           corev1.ObjectReference
	registrationMethod  controlplanev1.RegistrationMethod
	registrationAddress string
	rolloutStrategy     *controlplanev1.RolloutStrategy
	rollout             *controlplanev1.RolloutSpec
	remediationStrategy *controlplanev1.RemediationStrategy
	remediation         *controlplanev1.RemediationSpec
}

func settingsOf(s *controlplanev1.RKE2ControlPlaneSpec) settings {
	return settings{
		config: &s.RKE2ConfigSpec, machineTemplate: &s.MachineTemplate, server: &s.ServerConfig,
		manifests: s.ManifestsConfigMapReference, registrationMethod: s.RegistrationMethod,
		registrationAddress: s.RegistrationAddress, rolloutStrategy: s.RolloutStrategy, rollout: &s.Rollout,
		remediationStrategy: s.RemediationStrategy, remediation: &s.Remediation,
	}
}

func templateSettings(s *controlplanev1.RKE2ControlPlaneTemplateResourceSpec) settings {
	return settings{
		config: &s.RKE2ConfigSpec, machineTemplate: &s.MachineTemplate, server: &s.ServerConfig,
		manifests: s.ManifestsConfigMapReference, registrationMethod: s.RegistrationMethod,
		registrationAddress: s.RegistrationAddress, rolloutStrategy: s.RolloutStrategy, rollout: &s.Rollout,
		remediationStrategy: s.RemediationStrategy, remediation: &s.Remediation,
	}
}

// check finds what is wrong with the settings, which stand at a path of the
// object.
func (s *settings) check(path *field.Path, policy reference.Policy) finding.List {
	l := bootstrap.Settings(path, s.config, policy)
	machineTemplate := path.Child("machineTemplate")
	l.Errors = append(l.Errors, s.machineTemplate.ObjectMeta.Validate(machineTemplate.Child("metadata"))...)
	infrastructure(&l, machineTemplate.Child("spec", "infrastructureRef"), &s.machineTemplate.Spec.InfrastructureRef)
	timeouts(&l, machineTemplate.Child("spec", "deletion"), &s.machineTemplate.Spec.Deletion)
	policy.Value(&l, path.Child("manifestsConfigMapReference"), reference.ConfigMap, s.manifests)
	s.registration(&l, path)
	s.rolling(&l, path)
	s.remediating(&l, path)
	server(&l, path.Child("serverConfig"), s.server, policy)
	return l
}

// infrastructure checks a reference that is there at all. The schema of v1beta2
// wants it whole; one in v1beta1 may lack parts.
func infrastructure(l *finding.List, path *field.Path, ref *clusterv1.ContractVersionedObjectReference) {
	if !ref.IsDefined() {
		return
	}
	for _, part := range []struct{ name, value, text string }{
		{"apiGroup", ref.APIGroup, "give the API group of the infrastructure machine template (in v1beta1 by apiVersion)"},
		{"kind", ref.Kind, "give the kind of the infrastructure machine template"},
		{"name", ref.Name, "give the name of the infrastructure machine template"},
	} {
		if part.value == "" {
			l.Refuse(field.Required(path.Child(part.name), part.text))
		}
	}
}

func timeouts(l *finding.List, path *field.Path, deletion *controlplanev1.RKE2ControlPlaneMachineTemplateDeletionSpec) {
	for _, timeout := range []struct {
		name    string
		seconds *int32
	}{
		{"nodeDrainTimeoutSeconds", deletion.NodeDrainTimeoutSeconds},
		{"nodeVolumeDetachTimeoutSeconds", deletion.NodeVolumeDetachTimeoutSeconds},
		{"nodeDeletionTimeoutSeconds", deletion.NodeDeletionTimeoutSeconds},
	} {
		if timeout.seconds != nil && *timeout.seconds < 0 {
			l.Refuse(field.Invalid(path.Child(timeout.name), *timeout.seconds, "a time limit cannot be negative: set 0 for no limit"))
		}
	}
}

func (s *settings) registration(l *finding.List, path *field.Path) {
	if s.registrationMethod != controlplanev1.RegistrationAddress {
		return
	}
	at := path.Child("registrationAddress")
	switch address := s.registrationAddress; {
	case address == "":
		l.Refuse(field.Required(at, registrationAddressRequired))
	case !bootstrap.IsHost(address):
		l.Refuse(field.Invalid(at, address, "this is no host: give a host name or an address alone, without a scheme or a port; nodes join at port 9345"))
	}
}

func server(l *finding.List, path *field.Path, s *controlplanev1.RKE2ServerConfig, policy reference.Policy) {
	if s.CNIMultusEnable && s.CNI == "" {
		l.Refuse(field.Required(path.Child("cni"), multusWithoutCNI))
	}
	policy.Object(l, path.Child("auditPolicySecret"), reference.Secret, s.AuditPolicySecret)
	policy.Object(l, path.Child("cloudProviderConfigMap"), reference.ConfigMap, s.CloudProviderConfigMap)
	policy.Object(l, path.Child("externalDatastoreSecret"), reference.Secret, s.ExternalDatastoreSecret)
	if s.SecretsEncryption != nil {
		policy.Object(l, path.Child("secretsEncryption", "encryptionKeySecret"), reference.Secret, s.SecretsEncryption.EncryptionKeySecret)
	}
	s3 := s.Etcd.BackupConfig.S3
	if s3 == nil {
		return
	}
	at := path.Child("etcd", "backupConfig", "s3")
	policy.Object(l, at.Child("endpointCAsecret"), reference.Secret, s3.EndpointCASecret)
	policy.Object(l, at.Child("s3CredentialSecret"), reference.Secret, s3.S3CredentialSecret)
	if s3.Endpoint != "" && s3.EnforceSSLVerify == nil {
		l.Warn(at.Child("enforceSslVerify"), "is not set, so the certificate of %s is verified; other providers did not do that: "+
			"set it to true, with endpointCAsecret when the authority is your own, or to false to go on without", s3.Endpoint)
	}
}
