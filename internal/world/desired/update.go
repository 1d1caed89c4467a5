package desired

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// UpdatedMachine returns what an existing Machine should look like without
// being replaced, as the whole of what the control plane applies to it: new
// labels, annotations, time limits, readiness gates and taints, and everything
// that only a replacement can change as it is. Both hooks are part of it, since
// an apply without them would take them away. It is not for Machines that are
// being deleted: of those only the time limits change (Deletion).
func UpdatedMachine(cp *controlplanev1.RKE2ControlPlane, cluster *clusterv1.Cluster, m *clusterv1.Machine) *clusterv1.Machine {
	annotations := Annotations(cp)
	maps.Copy(annotations, records(cp, m))
	for key, value := range Hooks() {
		annotations[key] = value
	}
	gates := ReadinessGates(cp)
	if madeElsewhere(m) {
		// Taking a cluster over writes no spec of a Machine, and what is not
		// written need not be taken back when the cluster is given back.
		gates = slices.Clone(cp.Spec.MachineTemplate.Spec.ReadinessGates)
	}
	return &clusterv1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       m.Namespace,
			Name:            m.Name,
			UID:             m.UID,
			Labels:          Labels(cp, cluster.Name),
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{Controller(cp)},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName:       m.Spec.ClusterName,
			Version:           m.Spec.Version,
			FailureDomain:     m.Spec.FailureDomain,
			Bootstrap:         clusterv1.Bootstrap{ConfigRef: m.Spec.Bootstrap.ConfigRef},
			InfrastructureRef: m.Spec.InfrastructureRef,
			Deletion:          Deletion(cp),
			ReadinessGates:    gates,
			Taints:            Taints(cp),
		},
	}
}

// records are what is on record about how the Machine was made. What is missing
// for a Machine that was taken over is recorded as the control plane asks for
// it now: it counts as equal until then, and a later change must be seen.
func records(cp *controlplanev1.RKE2ControlPlane, m *clusterv1.Machine) map[string]string {
	out := map[string]string{}
	for _, key := range []string{
		controlplanev1.ServerConfigurationAnnotation, controlplanev1.RegistrationAnnotation,
		controlplanev1.MadeByAnnotation, controlplanev1.RemediationForAnnotation,
	} {
		if recorded, ok := m.Annotations[key]; ok {
			out[key] = recorded
		}
	}
	if _, known := RecordedServerConfig(m); !known {
		out[controlplanev1.ServerConfigurationAnnotation] = string(mustJSON(cp.Spec.ServerConfig))
	}
	if _, known := RecordedRegistration(m); !known {
		out[controlplanev1.RegistrationAnnotation] = RegistrationOf(cp).String()
	}
	return out
}
