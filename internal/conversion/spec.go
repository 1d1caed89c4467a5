package conversion

import (
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// specToHub converts the spec of a control plane from v1beta1 to v1beta2.
func specToHub(src controlplanev1beta1.RKE2ControlPlaneSpec) controlplanev1.RKE2ControlPlaneSpec {
	dst := common[controlplanev1.RKE2ControlPlaneSpec](src)
	dst.MachineTemplate.ObjectMeta = metadataToHub(src.MachineTemplate.ObjectMeta)
	dst.MachineTemplate.Spec = machineSpecToHub(src)
	return dst
}

// specFromHub is the inverse of specToHub, which leaves the deprecated fields alone. The namespace is that of the
// object, for references.
func specFromHub(src controlplanev1.RKE2ControlPlaneSpec, namespace string) controlplanev1beta1.RKE2ControlPlaneSpec {
	dst := common[controlplanev1beta1.RKE2ControlPlaneSpec](src)
	dst.MachineTemplate = machineTemplateFromHub(src.MachineTemplate, namespace)
	return dst
}

// lostSpec returns what is lost of a v1beta1 spec when it is converted to v1beta2 and back.
func lostSpec(src controlplanev1beta1.RKE2ControlPlaneSpec, hub controlplanev1.RKE2ControlPlaneSpec, namespace string) controlplanev1beta1.RKE2ControlPlaneSpec {
	fields := machineFields(src)
	if same(fields, machineFields(specFromHub(hub, namespace))) {
		return controlplanev1beta1.RKE2ControlPlaneSpec{}
	}
	return fields
}
