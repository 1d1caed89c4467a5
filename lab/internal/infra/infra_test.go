package infra

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	labv1 "github.com/drover-project/drover/lab/api/v1beta2"
	"github.com/drover-project/drover/lab/internal/balancer"
	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/machine"
)

const patience = 20 * time.Second

// get returns a function that reads the object anew, for Eventually.
func get[T client.Object](t *testing.T, object T) func() T {
	return func() T {
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
		return object
	}
}

func reason(object *labv1.LabMachine) string {
	if c := conditions.Get(object, clusterv1.ReadyCondition); c != nil {
		return c.Reason
	}
	return ""
}

func state(object *labv1.LabMachine) labv1.InstanceState { return object.Status.InstanceState }

func TestClusterGetsItsLoadBalancer(t *testing.T) {
	g := NewWithT(t)
	s := newSample(t)
	g.Eventually(get(t, s.labCluster), patience).Should(HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())))
	endpoint := s.labCluster.Spec.ControlPlaneEndpoint
	g.Expect(endpoint.Port).To(Equal(ports[0]))
	g.Expect(machines.serves(endpoint.Host)).To(BeTrue())
	g.Expect(s.labCluster.Status.FailureDomains).To(Equal(s.labCluster.Spec.FailureDomains))

	g.Expect(api.Delete(t.Context(), s.labCluster)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(api.Get(t.Context(), client.ObjectKeyFromObject(s.labCluster), &labv1.LabCluster{}))
	}, patience).Should(BeTrue())
	g.Expect(machines.serves(endpoint.Host)).To(BeFalse())
}

func TestMachineLife(t *testing.T) {
	g := NewWithT(t)
	s := newSample(t)
	_, object := s.addMachine("life", map[string]string{"value": "#cloud-config"})
	g.Eventually(get(t, object), patience).Should(WithTransform(reason, Equal(labv1.WaitingForClusterReason)))

	s.provisioned()
	g.Eventually(get(t, object), patience).Should(HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())))
	g.Expect(object.Spec.ProviderID).To(Equal("lab://c/life"))
	g.Expect(object.Status.FailureDomain).To(Equal("z1"))
	g.Expect(object.Status.Addresses[0].Type).To(Equal(clusterv1.MachineInternalIP))
	g.Expect(machines.spec("life")).To(Equal(machine.Spec{
		Name: "life", Cluster: "c", Role: machine.ControlPlane, BootstrapData: []byte("#cloud-config"),
		ProviderID: "lab://c/life", FailureDomain: "z1", LabBinary: "/lab", KubeBinary: "/kube",
	}))

	machines.change("life", func(i *machine.Info) { i.Boot = guest.BootResult{State: guest.BootFailed, Message: "exit status 1"} })
	g.Eventually(get(t, object), patience).Should(WithTransform(func(o *labv1.LabMachine) string {
		return conditions.Get(o, labv1.UserDataSucceededCondition).Message
	}, Equal("exit status 1")))
	machines.change("life", func(i *machine.Info) { i.Frozen = true })
	g.Eventually(get(t, object), patience).Should(WithTransform(state, Equal(labv1.InstanceFrozen)))
	g.Expect(reason(object)).To(Equal(labv1.RunningReason), "a cloud does not notice")
	machines.change("life", func(i *machine.Info) { i.State, i.Reason = machine.Terminated, "killed" })
	g.Eventually(get(t, object), patience).Should(WithTransform(state, Equal(labv1.InstanceTerminated)))
	g.Expect(reason(object)).To(Equal(labv1.TerminatedReason))

	g.Expect(api.Delete(t.Context(), object)).To(Succeed())
	g.Eventually(func() bool {
		_, found := machines.Get("life")
		return !found && apierrors.IsNotFound(api.Get(t.Context(), client.ObjectKeyFromObject(object), &labv1.LabMachine{}))
	}, patience).Should(BeTrue())
}

func TestNamesAreUniqueInALab(t *testing.T) {
	g := NewWithT(t)
	first, second := newSample(t), newSample(t)
	first.provisioned()
	second.provisioned()
	_, one := first.addMachine("same", map[string]string{"value": "x"})
	g.Eventually(get(t, one), patience).Should(WithTransform(state, Equal(labv1.InstanceRunning)))
	_, other := second.addMachine("same", map[string]string{"value": "y"})
	g.Eventually(get(t, other), patience).Should(WithTransform(reason, Equal(labv1.NameTakenReason)))

	g.Expect(api.Delete(t.Context(), other)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(api.Get(t.Context(), client.ObjectKeyFromObject(other), &labv1.LabMachine{}))
	}, patience).Should(BeTrue())
	_, found := machines.Get("same")
	g.Expect(found).To(BeTrue(), "deleting the one without a machine leaves the other's alone")
}

func TestHostsWithFixedNamesAreGivenToOneMachineEach(t *testing.T) {
	g := NewWithT(t)
	s := newSample(t)
	s.provisioned()
	data, pool := map[string]string{"value": "x"}, []string{"rack-1", "rack-2"}
	host := func(o *labv1.LabMachine) string { return machines.spec(o.Name).Hostname }
	_, first := s.addMachine("pool-a", data, pool...)
	g.Eventually(get(t, first), patience).Should(WithTransform(state, Equal(labv1.InstanceRunning)))
	_, second := s.addMachine("pool-b", data, pool...)
	g.Eventually(get(t, second), patience).Should(WithTransform(state, Equal(labv1.InstanceRunning)))
	g.Expect([]string{host(first), host(second)}).To(Equal(pool))
	g.Expect(second.Status.Addresses).To(ContainElement(clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: "rack-2"}))

	_, third := s.addMachine("pool-c", data, pool...)
	g.Eventually(get(t, third), patience).Should(WithTransform(reason, Equal(labv1.NoHostFreeReason)))
	g.Expect(api.Delete(t.Context(), first)).To(Succeed())
	g.Eventually(get(t, third), patience).Should(WithTransform(state, Equal(labv1.InstanceRunning)))
	g.Expect(host(third)).To(Equal("rack-1"), "the one that has become free")
}

func TestForeignBootstrapFormatBootsNothing(t *testing.T) {
	g := NewWithT(t)
	s := newSample(t)
	s.provisioned()
	_, object := s.addMachine("foreign", map[string]string{"value": "{}", "format": "toml"})
	g.Eventually(get(t, object), patience).Should(WithTransform(func(o *labv1.LabMachine) string {
		if c := conditions.Get(o, clusterv1.ReadyCondition); c != nil {
			return c.Message
		}
		return ""
	}, ContainSubstring(`do not understand the format "toml", only cloud-config and ignition`)))
	_, found := machines.Get("foreign")
	g.Expect(found).To(BeFalse())
}

func TestFormatOfBootstrapDataIsPassedOn(t *testing.T) {
	g := NewWithT(t)
	s := newSample(t)
	s.provisioned()
	_, object := s.addMachine("ignited", map[string]string{"value": "{}", "format": "ignition"})
	g.Eventually(get(t, object), patience).Should(WithTransform(state, Equal(labv1.InstanceRunning)))
	g.Expect(machines.spec("ignited").Format).To(Equal(machine.Ignition))
}

// bootstrapExec returns status, reason and message of the condition, apart from its time.
func bootstrapExec(object *labv1.LabMachine) string {
	c := conditions.Get(object, labv1.BootstrapExecSucceededCondition)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + " " + c.Message
}

func TestBootstrapIsReported(t *testing.T) {
	g := NewWithT(t)
	s := newSample(t)
	s.provisioned()
	_, object := s.addMachine("reported", map[string]string{"value": "x"})
	shows := func(want string) {
		t.Helper()
		g.Eventually(get(t, object), patience).Should(WithTransform(bootstrapExec, Equal(want)))
	}
	shows("Unknown BootstrapRunning ")
	machines.change("reported", func(i *machine.Info) {
		i.Boot = guest.BootResult{State: guest.BootFailed, Message: "exit status 1"}
	})
	shows("False BootstrapFailed exit status 1")
	machines.change("reported", func(i *machine.Info) {
		i.Bootstrap = guest.BootstrapResult{State: guest.BootFailed, Message: "step: preRKE2Commands[0]\nexit code: 1"}
	})
	shows("False BootstrapFailed step: preRKE2Commands[0]\nexit code: 1")
	machines.change("reported", func(i *machine.Info) { i.Bootstrap = guest.BootstrapResult{State: guest.BootSucceeded} })
	shows("True BootstrapSucceeded ")
}

func TestExcludedNodeIsDrained(t *testing.T) {
	g := NewWithT(t)
	s := newSample(t)
	g.Eventually(get(t, s.labCluster), patience).Should(HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())))
	s.provisioned()
	_, object := s.addMachine("drained", map[string]string{"value": "x"})
	g.Eventually(get(t, object), patience).Should(WithTransform(state, Equal(labv1.InstanceRunning)))
	g.Eventually(backends(s), patience).Should(HaveLen(len(ports)))

	create(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.cluster.Namespace, Name: "c-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}},
		Data:       map[string][]byte{"value": kubeconfig},
	})
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "other-name", Labels: map[string]string{corev1.LabelNodeExcludeBalancers: "true"}},
		Spec:       corev1.NodeSpec{ProviderID: "lab://c/drained"},
	}
	create(t, node)
	g.Eventually(backends(s), patience).Should(HaveEach(HaveField("Excluded", true)))
	delete(node.Labels, corev1.LabelNodeExcludeBalancers)
	g.Expect(api.Update(t.Context(), node)).To(Succeed())
	g.Eventually(backends(s), patience).Should(HaveEach(HaveField("Excluded", false)))

	machines.change("drained", func(i *machine.Info) { i.State = machine.Terminated })
	g.Eventually(backends(s), patience).Should(BeEmpty())
}

func backends(s *sample) func() []balancer.Status {
	return func() []balancer.Status {
		for _, b := range provider.Balancers() {
			if b.Cluster == client.ObjectKeyFromObject(s.cluster) {
				return b.Backends
			}
		}
		return nil
	}
}

func TestDelaysCountFromTheFirstMomentTheyCould(t *testing.T) {
	minute := metav1.Duration{Duration: time.Minute}
	for reason, left := range map[string]func(*labv1.LabMachine) time.Duration{
		labv1.BootDelayedReason: bootDelay, labv1.ReportDelayedReason: reportDelay,
	} {
		g := NewWithT(t)
		object := &labv1.LabMachine{Spec: labv1.LabMachineSpec{BootDelay: minute, ReportDelay: minute}}
		g.Expect(left(object)).To(Equal(time.Minute), reason)
		conditions.Set(object, metav1.Condition{
			Type: labv1.InstanceRunningCondition, Status: metav1.ConditionFalse, Reason: reason,
			LastTransitionTime: metav1.NewTime(time.Now().Add(-40 * time.Second)),
		})
		g.Expect(left(object)).To(BeNumerically("~", 20*time.Second, 2*time.Second), reason)
		if reason == labv1.ReportDelayedReason {
			g.Expect(bootDelay(object)).To(BeZero(), "it has booted")
		}
		object.Spec = labv1.LabMachineSpec{}
		g.Expect(left(object)).To(BeZero(), reason)
	}
}
