package desired

import (
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// maxName leaves room for what others append to a Machine's name. It becomes
// the host name on most infrastructures, whose limit is 63.
const maxName = 63

// Name is the name of a new server: that of the control plane and a suffix.
// The Machine, the infrastructure machine and the RKE2Config all carry it. A
// long control-plane name is cut, never the suffix.
func Name(cp *controlplanev1.RKE2ControlPlane, suffix string) string {
	base := cp.Name
	if most := maxName - len(suffix) - 1; len(base) > most {
		base = base[:most]
	}
	return fmt.Sprintf("%s-%s", base, suffix)
}

// Labels are the labels of a Machine, its infrastructure machine and its
// RKE2Config. Those that Cluster API gives a meaning win over the user's.
func Labels(cp *controlplanev1.RKE2ControlPlane, cluster string) map[string]string {
	out := map[string]string{}
	for k, v := range cp.Spec.MachineTemplate.ObjectMeta.Labels {
		out[k] = v
	}
	out[clusterv1.ClusterNameLabel] = cluster
	out[clusterv1.MachineControlPlaneLabel] = ""
	out[clusterv1.MachineControlPlaneNameLabel] = format.MustFormatValue(cp.Name)
	return out
}

// Annotations are the annotations the user wants on a Machine, its
// infrastructure machine and its RKE2Config.
func Annotations(cp *controlplanev1.RKE2ControlPlane) map[string]string {
	out := map[string]string{}
	for k, v := range cp.Spec.MachineTemplate.ObjectMeta.Annotations {
		out[k] = v
	}
	return out
}
