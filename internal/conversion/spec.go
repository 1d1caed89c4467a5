package conversion

import (
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// specToHub converts the spec of a control plane from v1beta1 to v1beta2.
func specToHub(src controlplanev1beta1.RKE2ControlPlaneSpec) controlplanev1.RKE2ControlPlaneSpec {
	return controlplanev1.RKE2ControlPlaneSpec{
		RKE2ConfigSpec: src.RKE2ConfigSpec,
		Replicas:       src.Replicas,
		Version:        src.Version,
		MachineTemplate: controlplanev1.RKE2ControlPlaneMachineTemplate{
			ObjectMeta: metadataToHub(src.MachineTemplate.ObjectMeta),
			Spec:       machineSpecToHub(src),
		},
		ServerConfig:                src.ServerConfig,
		ManifestsConfigMapReference: src.ManifestsConfigMapReference,
		RegistrationMethod:          src.RegistrationMethod,
		RegistrationAddress:         src.RegistrationAddress,
		RolloutStrategy:             src.RolloutStrategy,
		RemediationStrategy:         src.RemediationStrategy,
	}
}

// specFromHub is the inverse of specToHub, which leaves the deprecated fields alone. The namespace is that of the
// object, for references.
func specFromHub(src controlplanev1.RKE2ControlPlaneSpec, namespace string) controlplanev1beta1.RKE2ControlPlaneSpec {
	return controlplanev1beta1.RKE2ControlPlaneSpec{
		RKE2ConfigSpec:              src.RKE2ConfigSpec,
		Replicas:                    src.Replicas,
		Version:                     src.Version,
		MachineTemplate:             machineTemplateFromHub(src.MachineTemplate, namespace),
		ServerConfig:                src.ServerConfig,
		ManifestsConfigMapReference: src.ManifestsConfigMapReference,
		RegistrationMethod:          src.RegistrationMethod,
		RegistrationAddress:         src.RegistrationAddress,
		RolloutStrategy:             src.RolloutStrategy,
		RemediationStrategy:         src.RemediationStrategy,
	}
}

// templateSpec leaves out what a template of v1beta2 does not have.
func templateSpec(src controlplanev1.RKE2ControlPlaneSpec) controlplanev1.RKE2ControlPlaneTemplateResourceSpec {
	return controlplanev1.RKE2ControlPlaneTemplateResourceSpec{
		RKE2ConfigSpec:              src.RKE2ConfigSpec,
		MachineTemplate:             src.MachineTemplate,
		ServerConfig:                src.ServerConfig,
		ManifestsConfigMapReference: src.ManifestsConfigMapReference,
		RegistrationMethod:          src.RegistrationMethod,
		RegistrationAddress:         src.RegistrationAddress,
		RolloutStrategy:             src.RolloutStrategy,
		RemediationStrategy:         src.RemediationStrategy,
	}
}

// controlPlaneSpec is the inverse of templateSpec, without replicas and version.
func controlPlaneSpec(src controlplanev1.RKE2ControlPlaneTemplateResourceSpec) controlplanev1.RKE2ControlPlaneSpec {
	return controlplanev1.RKE2ControlPlaneSpec{
		RKE2ConfigSpec:              src.RKE2ConfigSpec,
		MachineTemplate:             src.MachineTemplate,
		ServerConfig:                src.ServerConfig,
		ManifestsConfigMapReference: src.ManifestsConfigMapReference,
		RegistrationMethod:          src.RegistrationMethod,
		RegistrationAddress:         src.RegistrationAddress,
		RolloutStrategy:             src.RolloutStrategy,
		RemediationStrategy:         src.RemediationStrategy,
	}
}
