package takeover_test

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// ownerVersions are the versions of the API groups in owner references.
var ownerVersions = []string{"v1beta1", "v1beta2"}

// everyIncumbent runs a test for each release and version of owner references.
func everyIncumbent(t *testing.T, test func(t *testing.T, in *incumbent)) {
	for _, r := range append(releases(), legacy()) {
		for _, version := range ownerVersions {
			t.Run(r.name+" owners "+version, func(t *testing.T) { test(t, newIncumbent(newWorld(t), r, version)) })
		}
	}
}

// legacy is a cluster from before etcd's authorities were in Secrets.
func legacy() release {
	r := releases()[1]
	r.name, r.annotations = "legacy", map[string]string{controlplanev1.LegacyAnnotation: ""}
	return r
}

func TestNothingIsReplacedOrRewritten(t *testing.T) {
	everyIncumbent(t, func(_ *testing.T, in *incumbent) {
		before := in.objects()
		in.adopt()
		in.resync()
		after := in.objects()
		in.Expect(sortedKeys(after)).To(Equal(sortedKeys(before)), "objects were made or deleted")
		for _, key := range sortedKeys(before) {
			was, is := before[key], after[key]
			in.Expect(is.GetUID()).To(Equal(was.GetUID()), key)
			for _, part := range []string{"spec", "data", "type"} {
				if key == "Cluster/demo" {
					continue // It was unpaused.
				}
				in.Expect(asJSON(in.T, is.Object[part])).To(Equal(asJSON(in.T, was.Object[part])), "%s of %s was written", part, key)
				in.Expect(is.GetGeneration()).To(Equal(was.GetGeneration()), key)
			}
		}
		in.nothingIsOutdated()
		in.hooksAreAdopted()
		in.ownersAreInOrder(after)
		in.statusIsRebuilt()
	})
}

func (in *incumbent) nothingIsOutdated() {
	in.Helper()
	in.Expect(seen.snapshot(in.namespace).Machines).To(HaveLen(3))
	for _, m := range seen.snapshot(in.namespace).Machines {
		in.Expect(m.Outdated).To(BeEmpty(), m.Name)
	}
}

func (in *incumbent) hooksAreAdopted() {
	in.Helper()
	for _, m := range in.machines() {
		in.Expect(m.Annotations).To(HaveKey(controlplanev1.PreTerminateHookCleanupAnnotation), m.Name)
		in.Expect(m.Annotations).To(HaveKey(controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation), m.Name)
		in.Expect(m.Annotations).To(HaveKey(controlplanev1.RegistrationAnnotation), m.Name)
		in.Expect(m.Annotations).To(HaveKey(controlplanev1.ServerConfigurationAnnotation), m.Name)
	}
}

// ownersAreInOrder looks at who controls what: one controller each, in our
// version, and never the config of a single server for the whole cluster.
func (in *incumbent) ownersAreInOrder(objects map[string]*unstructured.Unstructured) {
	in.Helper()
	controlPlane := *metav1.NewControllerRef(objects["RKE2ControlPlane/demo-cp"], controlplanev1.GroupVersion.WithKind("RKE2ControlPlane"))
	for _, key := range sortedKeys(objects) {
		controllers := slices.DeleteFunc(objects[key].GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.Controller == nil || !*ref.Controller })
		in.Expect(len(controllers)).To(BeNumerically("<=", 1), key)
	}
	for _, key := range []string{"Secret/demo-ca", "Secret/demo-cca", "Secret/demo-etcd", "Secret/demo-peer-etcd", "Secret/demo-kubeconfig", "Machine/demo-cp-m0abc", "Machine/demo-cp-m2abc"} {
		if objects[key] != nil {
			in.Expect(objects[key].GetOwnerReferences()).To(Equal([]metav1.OwnerReference{controlPlane}), key)
		}
	}
	config := objects["RKE2Config/demo-cp-c1jkl"]
	in.Expect(objects["Secret/demo-cp-c1jkl"].GetOwnerReferences()).To(Equal([]metav1.OwnerReference{*metav1.NewControllerRef(config, bootstrapv1.GroupVersion.WithKind("RKE2Config"))}))
	in.Expect(objects["TestMachineTemplate/small"].GetOwnerReferences()).To(ContainElement(HaveField("Kind", "Cluster")))
}

func (in *incumbent) statusIsRebuilt() {
	in.Helper()
	cp := in.readControlPlane()
	in.Expect(cp.Status.ObservedGeneration).To(Equal(cp.Generation))
	in.Expect(cp.Status.UpToDateReplicas).To(HaveValue(BeEquivalentTo(3)))
	in.Expect(cp.Status.Selector).NotTo(BeEmpty())
	in.Expect(cp.Status.AvailableServerIPs).NotTo(BeEmpty())
	in.Expect(cp.Annotations).To(HaveKeyWithValue(controlplanev1.InitializedAnnotation, "true"))
	in.Expect(cp.Annotations).NotTo(HaveKey(controlplanev1.FirstServerByAnnotation))
	for _, kind := range []string{
		controlplanev1.AvailableCondition, controlplanev1.InitializedCondition, controlplanev1.CertificatesAvailableCondition,
		controlplanev1.MachinesUpToDateCondition, controlplanev1.ControlPlaneComponentsHealthyCondition,
	} {
		in.Expect(conditions.IsTrue(cp, kind)).To(BeTrue(), "%s: %s", kind, conditions.GetMessage(cp, kind))
	}
	for _, kind := range []string{controlplanev1.RollingOutCondition, controlplanev1.ScalingUpCondition, controlplanev1.ScalingDownCondition} {
		in.Expect(conditions.IsFalse(cp, kind)).To(BeTrue(), "%s: %s", kind, conditions.GetMessage(cp, kind))
	}
	for _, m := range in.machines() {
		in.Expect(conditions.IsTrue(&m, clusterv1.MachineUpToDateCondition)).To(BeTrue(), m.Name)
		in.Expect(conditions.IsTrue(&m, controlplanev1.MachineAPIServerPodHealthyCondition)).To(BeTrue(), m.Name)
		for _, former := range []string{controlplanev1.MachineAgentHealthyCondition, controlplanev1.MachineNodeMetadataUpToDateCondition} {
			in.Expect(conditions.Has(&m, former)).To(BeFalse(), "%s of %s, which nobody keeps up to date any more", former, m.Name)
		}
	}
	config := &bootstrapv1.RKE2Config{}
	in.get("demo-cp-c0jkl", config)
	in.Expect(conditions.IsTrue(config, bootstrapv1.ReadyCondition)).To(BeTrue())
}

// As long as the workload cluster does not answer, nothing is decided on it.
func TestNothingIsReplacedWhileTheClusterDoesNotAnswer(t *testing.T) {
	everyIncumbent(t, func(_ *testing.T, in *incumbent) {
		seen.show(in.namespace, unseen)
		before := sortedKeys(in.objects())
		in.adopt()
		in.resync()
		in.Expect(sortedKeys(in.objects())).To(Equal(before))
	})
}

// What is changed afterwards is seen, also on servers that came without a
// record.
func TestChangesAfterwardsAreSeen(t *testing.T) {
	in := newIncumbent(newWorld(t), releases()[1], "v1beta1")
	in.adopt()
	in.resync()
	in.change(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Spec.RegistrationMethod = ""
		cp.Spec.ServerConfig.ServiceNodePortRange = "30000-30100"
	})
	in.Eventually(func(g Gomega) {
		machines := in.machines()
		g.Expect(machines).To(HaveLen(4), "a replacement comes first")
		for _, m := range machines {
			if _, old := before(m.Name); !old {
				g.Expect(m.Annotations).To(HaveKeyWithValue(controlplanev1.RegistrationAnnotation, "control-plane-endpoint"))
				continue
			}
			message := conditions.GetMessage(&m, clusterv1.MachineUpToDateCondition)
			g.Expect(message).To(ContainSubstring("registration through internal-first, wanted control-plane-endpoint"))
			g.Expect(message).To(ContainSubstring("server configuration changed: serviceNodePortRange"))
		}
	}).WithTimeout(patience).Should(Succeed())
}

// before tells whether a Machine is one of the former provider's.
func before(name string) (int, bool) {
	i := slices.Index([]string{"demo-cp-m0abc", "demo-cp-m1abc", "demo-cp-m2abc"}, name)
	return i, i >= 0
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
