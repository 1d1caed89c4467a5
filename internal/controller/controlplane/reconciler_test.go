package controlplane

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

func TestFirstServerIsMadeOnceAndNothingIsWrittenAfterwards(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	w.controlPlane()
	machine := w.awaitMachines(1)[0]

	for _, name := range []string{"demo-ca", "demo-cca", "demo-etcd", "demo-peer-etcd", "demo-kubeconfig", "demo-token"} {
		secret := w.secret(name)
		w.g.Expect(secret).NotTo(BeNil(), name)
		owner := map[bool]string{true: "Cluster", false: "RKE2ControlPlane"}[name == "demo-token"]
		w.g.Expect(string(secret.Type)).To(Equal("cluster.x-k8s.io/secret"), name)
		w.g.Expect(secret.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "demo"), name)
		w.g.Expect(metav1.GetControllerOf(secret).Kind).To(Equal(owner), name)
	}
	for _, hook := range []string{controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation, controlplanev1.PreTerminateHookCleanupAnnotation} {
		w.g.Expect(machine.Annotations).To(HaveKey(hook))
	}
	cp := w.get()
	w.g.Expect(cp.Annotations).To(HaveKeyWithValue(controlplanev1.FirstServerByAnnotation, controlplanev1.FirstServerByDrover))
	w.g.Expect(cp.Finalizers).To(ContainElement(controlplanev1.RKE2ControlPlaneFinalizer))
	w.awaitCondition(controlplanev1.InitializedCondition, metav1.ConditionFalse)
	w.awaitCondition(controlplanev1.CertificatesAvailableCondition, metav1.ConditionTrue)
	w.awaitCondition(controlplanev1.ScalingUpCondition, metav1.ConditionTrue, "from 1 to 3", "first_server_starts_alone", machine.Name)

	w.expectQuiet()
	w.g.Expect(w.machines()).To(HaveLen(1))
}

// expectQuiet reconciles on its own account until nothing changes any more,
// and then twice again, in which nothing may change.
func (w *world) expectQuiet() {
	w.Helper()
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "demo-cp"}}
	reconcileNow := func() string {
		_, err := underTest.Reconcile(w.ctx, request)
		w.g.Expect(err).NotTo(HaveOccurred())
		return w.versions()
	}
	w.g.Eventually(func() bool { return w.versions() == reconcileNow() }).WithTimeout(patience).Should(BeTrue())
	settled := w.versions()
	for range 2 {
		w.g.Expect(reconcileNow()).To(Equal(settled))
	}
}

// versions has the resource versions of everything in the namespace.
func (w *world) versions() string {
	var b strings.Builder
	add := func(obj client.Object) {
		fmt.Fprintf(&b, "%T %s %s\n", obj, obj.GetName(), obj.GetResourceVersion())
	}
	add(w.get())
	for _, m := range w.machines() {
		add(&m)
	}
	for _, c := range w.configs() {
		add(&c)
	}
	for _, i := range w.infra() {
		add(&i)
	}
	for _, name := range []string{"demo-ca", "demo-cca", "demo-etcd", "demo-peer-etcd", "demo-kubeconfig", "demo-token"} {
		if s := w.secret(name); s != nil {
			add(s)
		}
	}
	return b.String()
}

func TestMissingTemplateIsNamedAndEnds(t *testing.T) {
	w := newWorld(t)
	w.controlPlane()
	w.awaitCondition(controlplanev1.ScalingUpCondition, metav1.ConditionTrue, "TestMachineTemplate/small does not exist", "create it, or correct")
	w.g.Expect(w.machines()).To(BeEmpty())
	w.g.Expect(w.configs()).To(BeEmpty())
	w.create(w.template())
	w.poke("template is there")
	w.awaitMachines(1)
	w.expectQuiet()
	template := w.template()
	w.g.Expect(api.Get(w.ctx, client.ObjectKeyFromObject(template), template)).To(Succeed())
	w.g.Expect(template.GetOwnerReferences()).To(ContainElement(HaveField("Kind", "Cluster")))
}

func TestSpecThatCannotBeFollowed(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	seen.show(w.namespace, func(s *model.Snapshot) {
		s.ControlPlane.Problems = []string{`spec.version "1.36" is not an RKE2 version`}
	})
	w.controlPlane()
	w.awaitCondition(controlplanev1.ScalingUpCondition, metav1.ConditionTrue, `spec.version "1.36"`, "spec_can_be_followed", "correct the spec")
	w.g.Expect(w.machines()).To(BeEmpty())
}

func TestServersAreAddedOneAfterTheOther(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	w.controlPlane()
	w.awaitMachines(1)
	// The second and third are created, and each is seen as joined at once.
	seen.show(w.namespace, joined)
	w.poke("first server is up")
	w.awaitMachines(3)
	w.awaitCondition(controlplanev1.AvailableCondition, metav1.ConditionTrue)
	w.awaitCondition(controlplanev1.EtcdClusterHealthyCondition, metav1.ConditionTrue)
	w.awaitCondition(controlplanev1.InitializedCondition, metav1.ConditionTrue)
	w.awaitCondition(controlplanev1.ScalingUpCondition, metav1.ConditionFalse)
	w.expectQuiet()
	cp := w.get()
	w.g.Expect(*cp.Status.Initialization.ControlPlaneInitialized).To(BeTrue())
	w.g.Expect(*cp.Status.Replicas).To(BeEquivalentTo(3))
	w.g.Expect(*cp.Status.UpToDateReplicas).To(BeEquivalentTo(3))
	w.g.Expect(cp.Status.Version).To(Equal("v1.36.3+rke2r1"))
	w.g.Expect(cp.Status.ObservedGeneration).To(Equal(cp.Generation))
	for _, m := range w.machines() {
		w.g.Expect(m.Status.Conditions).To(ContainElement(And(
			HaveField("Type", controlplanev1.MachineEtcdMemberHealthyCondition), HaveField("Status", metav1.ConditionTrue))))
	}
}

func TestPausedControlPlaneIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	w.controlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	})
	w.awaitCondition(controlplanev1.PausedCondition, metav1.ConditionTrue)
	w.g.Expect(w.secret("demo-ca")).To(BeNil())
	w.update(func(cp *controlplanev1.RKE2ControlPlane) { delete(cp.Annotations, clusterv1.PausedAnnotation) })
	w.awaitMachines(1)
	w.awaitCondition(controlplanev1.PausedCondition, metav1.ConditionFalse)
}

func TestKubeconfigFollowsTheEndpoint(t *testing.T) {
	w := newWorld(t)
	w.controlPlane()
	server := func() string {
		secret := w.secret("demo-kubeconfig")
		if secret == nil {
			return ""
		}
		config, err := clientcmd.Load(secret.Data["value"])
		w.g.Expect(err).NotTo(HaveOccurred())
		return config.Clusters["demo"].Server
	}
	w.g.Eventually(server).WithTimeout(patience).Should(Equal("https://10.0.0.1:6443"))
	before := w.cluster.DeepCopy()
	w.cluster.Spec.ControlPlaneEndpoint.Host = "api.example.com"
	w.g.Expect(api.Patch(w.ctx, w.cluster, client.MergeFrom(before))).To(Succeed())
	w.g.Eventually(server).WithTimeout(patience).Should(Equal("https://api.example.com:6443"))
}

func TestSecretWithoutKeysIsNamed(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	w.create(userSecret(w.namespace, "demo-cca"))
	w.controlPlane()
	w.awaitCondition(controlplanev1.CertificatesAvailableCondition, metav1.ConditionFalse, "demo-cca", "key tls.crt is missing")
	w.awaitCondition(controlplanev1.ScalingUpCondition, metav1.ConditionTrue, "demo-cca", "key tls.crt is missing")
	w.g.Expect(w.machines()).To(BeEmpty())
}

func TestMetadataAndTimeLimitsReachExistingMachines(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	w.controlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{
			Labels: map[string]string{"team": "blue"}, Annotations: map[string]string{"note": "one"},
		}
	})
	w.awaitMachines(1)
	w.expectQuiet()
	w.update(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{Labels: map[string]string{"owner": "green"}}
		cp.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](300)
	})
	w.g.Eventually(func(g Gomega) {
		machine, config, infra := w.machines()[0], w.configs()[0], w.infra()[0]
		for _, obj := range []client.Object{&machine, &config, &infra} {
			g.Expect(obj.GetLabels()).To(HaveKeyWithValue("owner", "green"), "%T", obj)
			g.Expect(obj.GetLabels()).NotTo(HaveKey("team"), "%T", obj)
			g.Expect(obj.GetAnnotations()).NotTo(HaveKey("note"), "%T", obj)
		}
		g.Expect(machine.Annotations).To(HaveKey(controlplanev1.PreTerminateHookCleanupAnnotation))
		g.Expect(machine.Annotations).To(HaveKey(controlplanev1.ServerConfigurationAnnotation))
		g.Expect(infra.GetAnnotations()).To(HaveKey(clusterv1.TemplateClonedFromNameAnnotation))
		g.Expect(machine.Spec.Deletion.NodeDrainTimeoutSeconds).To(HaveValue(BeEquivalentTo(300)))
	}).WithTimeout(patience).Should(Succeed())
	w.g.Expect(w.machines()).To(HaveLen(1))
	w.expectQuiet()

	// A Machine that is being deleted gets the time limits and nothing else.
	machine := w.machines()[0]
	held := machine.DeepCopy()
	held.Finalizers = append(held.Finalizers, "test/held")
	w.g.Expect(api.Patch(w.ctx, held, client.MergeFrom(&machine))).To(Succeed())
	w.g.Expect(api.Delete(w.ctx, held)).To(Succeed())
	w.update(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"owner": "red"}
		cp.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](5)
	})
	w.g.Eventually(func(g Gomega) {
		m := &clusterv1.Machine{}
		g.Expect(api.Get(w.ctx, client.ObjectKeyFromObject(held), m)).To(Succeed())
		g.Expect(m.Spec.Deletion.NodeDrainTimeoutSeconds).To(HaveValue(BeEquivalentTo(5)))
		g.Expect(m.Labels).To(HaveKeyWithValue("owner", "green"))
	}).WithTimeout(patience).Should(Succeed())
	m := &clusterv1.Machine{}
	w.g.Expect(api.Get(w.ctx, client.ObjectKeyFromObject(held), m)).To(Succeed())
	before := m.DeepCopy()
	m.Finalizers = nil
	w.g.Expect(api.Patch(w.ctx, m, client.MergeFrom(before))).To(Succeed())
}

// Machines that lost their owner may still be servers. A first server next to
// them would start a second cluster.
func TestForeignMachinesStopEverythingNew(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	w.create(&clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "lost", Labels: map[string]string{
			clusterv1.ClusterNameLabel: "demo", clusterv1.MachineControlPlaneLabel: "",
		}},
		Spec: clusterv1.MachineSpec{
			ClusterName: "demo", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("lost")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "TestMachine", Name: "lost"},
		},
	})
	w.controlPlane()
	w.awaitCondition(controlplanev1.ScalingUpCondition, metav1.ConditionTrue, "Machines lost are", "not controlled by this control plane")
	w.g.Expect(w.machines()).To(HaveLen(1))
	w.g.Expect(w.secret("demo-ca")).To(BeNil())
}
