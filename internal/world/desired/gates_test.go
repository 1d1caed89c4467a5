package desired_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
)

// A Machine waits only for conditions that are set on it, and for each once.
func TestReadinessGates(t *testing.T) {
	whole := []string{"APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy", "EtcdPodHealthy", "EtcdMemberHealthy"}
	for name, c := range map[string]struct {
		change func(*controlplanev1.RKE2ControlPlane)
		want   []string
	}{
		"as usual": {func(*controlplanev1.RKE2ControlPlane) {}, whole},
		"the user's": {func(cp *controlplanev1.RKE2ControlPlane) {
			cp.Spec.MachineTemplate.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "example.com/a"}, {ConditionType: "EtcdPodHealthy"}}
		}, append(append([]string{}, whole...), "example.com/a")},
		"external datastore": {func(cp *controlplanev1.RKE2ControlPlane) {
			cp.Spec.ServerConfig.ExternalDatastoreSecret = &corev1.ObjectReference{Name: "d"}
		}, whole[:3]},
		"etcd that can't be reached": {func(cp *controlplanev1.RKE2ControlPlane) {
			cp.Annotations = map[string]string{controlplanev1.LegacyAnnotation: ""}
		}, whole[:3]},
		"no scheduler": {func(cp *controlplanev1.RKE2ControlPlane) {
			cp.Spec.ServerConfig.DisableComponents.KubernetesComponents = []controlplanev1.DisabledKubernetesComponent{controlplanev1.DisableScheduler}
		}, []string{whole[0], whole[1], whole[3], whole[4]}},
	} {
		cp, _ := controlPlane()
		c.change(cp)
		var got []string
		for _, gate := range desired.ReadinessGates(cp) {
			got = append(got, gate.ConditionType)
		}
		NewWithT(t).Expect(got).To(Equal(c.want), name)
	}
}

// A Machine that was taken over gets the user's gates and no others.
func TestReadinessGatesOfAMachineTakenOver(t *testing.T) {
	g := NewWithT(t)
	cp, s := server(t)
	_, cluster := controlPlane()
	g.Expect(desired.UpdatedMachine(cp, cluster, s.Machine).Spec.ReadinessGates).To(HaveLen(5))
	delete(s.Machine.Annotations, controlplanev1.MadeByAnnotation)
	g.Expect(desired.UpdatedMachine(cp, cluster, s.Machine).Spec.ReadinessGates).To(BeEmpty())
	users := []clusterv1.MachineReadinessGate{{ConditionType: "example.com/a"}}
	cp.Spec.MachineTemplate.Spec.ReadinessGates = users
	g.Expect(desired.UpdatedMachine(cp, cluster, s.Machine).Spec.ReadinessGates).To(Equal(users))
}
