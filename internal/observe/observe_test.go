package observe_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/world/secrets"
	"github.com/drover-project/drover/internal/world/workload"
	"github.com/drover-project/drover/internal/world/worldtest"
)

// network stands in for the way to the registration address.
type network struct {
	dials int
	err   error
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	n.dials++
	if n.err != nil {
		return nil, n.err
	}
	near, far := net.Pipe()
	_ = far.Close()
	return near, nil
}

func observer(w *worldtest.World, n *network) *observe.Observer {
	return observe.New(observe.Options{Client: w.Management, Live: w.Management, Connector: w.Connector(), Dial: n.dial})
}

func look(t *testing.T, w *worldtest.World, o *observe.Observer) model.Snapshot {
	t.Helper()
	snap, err := o.Observe(t.Context(), w.Scope())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestHealthyControlPlane(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 3)
	for i := range 3 {
		w.AddServer(i)
	}
	n := &network{}
	snap := look(t, w, observer(w, n))

	g.Expect(snap.Now.IsZero()).To(BeFalse())
	g.Expect(snap.ControlPlane).To(Equal(model.ControlPlane{
		Namespace: "demo", Name: "cp", Replicas: 3, MaxSurge: 1, Version: worldtest.Version,
		Initialized: true, ExcludeFromLoadBalancers: true, LoadBalancerSettle: 10 * time.Second,
	}))
	g.Expect(snap.Cluster.Endpoint).To(Equal("10.0.0.100:6443"))
	g.Expect(snap.Cluster.FailureDomains).To(Equal([]string{"a", "b"}))
	g.Expect(snap.Cluster.Template.Known && snap.Cluster.Template.Value).To(BeTrue(), snap.Cluster.Template.Reason)
	g.Expect(snap.Cluster.TemplateName).To(Equal("LabMachineTemplate/t"))
	g.Expect(snap.Cluster.Certificates.Known && snap.Cluster.Certificates.Value).To(BeTrue(), snap.Cluster.CertificateProblem)
	g.Expect(snap.Cluster.Registration.Known).To(BeFalse())
	g.Expect(n.dials).To(BeZero(), "nobody is about to join")

	g.Expect(snap.Machines).To(HaveLen(3))
	for _, m := range snap.Machines {
		g.Expect(m.UpToDate()).To(BeTrue(), "%v", m.Outdated)
		g.Expect(m.Alive()).To(BeTrue())
		g.Expect(m.PreDrainHook && m.PreTerminateHook).To(BeTrue())
		g.Expect(m.InfrastructureGone).To(And(HaveField("Known", true), HaveField("Value", false)))
		g.Expect(m.Node.Value.MemberAnnotated).To(BeTrue())
		g.Expect(m.Components).To(HaveLen(4))
		for name, fact := range m.Components {
			g.Expect(fact.Known && fact.Value).To(BeTrue(), "%s: %s", name, fact.Reason)
		}
	}
	g.Expect(snap.Etcd.Members.Known).To(BeTrue(), snap.Etcd.Members.Reason)
	leaders := 0
	for _, m := range snap.Etcd.Members.Value {
		g.Expect(m.HealthyVoter()).To(BeTrue(), "%s: %s", m.Name, m.Answers.Reason)
		g.Expect(m.Machine).To(Equal("m" + m.Name[1:2]))
		g.Expect(m.NodeReady).To(Equal(model.Yes))
		g.Expect(m.UnmatchedSince.IsZero()).To(BeTrue())
		if m.Leader {
			leaders++
		}
	}
	g.Expect(leaders).To(Equal(1))
}

func TestLostConnectionIsUnknownEverywhere(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	w.AddServer(0)
	w.Connected = false
	snap := look(t, w, observer(w, &network{}))
	g.Expect(snap.ControlPlane.Initialized).To(BeFalse())
	g.Expect(snap.Etcd.Members.Known).To(BeFalse())
	g.Expect(snap.Etcd.Members.Reason).To(ContainSubstring("no connection to the workload cluster"))
	g.Expect(snap.Machines[0].Node.Known).To(BeFalse())
	g.Expect(snap.Machines[0].Node.Reason).To(ContainSubstring("no connection"))
	g.Expect(snap.Machines[0].Components["etcd"].Known).To(BeFalse())
}

func TestDeadMemberAndOrphan(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 3)
	for i := range 2 {
		w.AddServer(i)
	}
	o := observer(w, &network{})
	first := look(t, w, o)
	orphan := memberNamed(first, "n2-00000002")
	g.Expect(orphan.Machine).To(BeEmpty())
	g.Expect(orphan.UnmatchedSince.IsZero()).To(BeFalse())
	g.Expect(orphan.NodeReady).To(Equal(model.No), "there is no such Node")
	g.Expect(orphan.Answers.Known).To(BeFalse())

	again := memberNamed(look(t, w, o), "n2-00000002")
	g.Expect(again.UnmatchedSince).To(Equal(orphan.UnmatchedSince), "the time is remembered")

	w.AddServer(2)
	w.Etcd.Kill(w.Etcd.Members[2])
	dead := memberNamed(look(t, w, o), "n2-00000002")
	g.Expect(dead.Machine).To(Equal("m2"))
	g.Expect(dead.UnmatchedSince.IsZero()).To(BeTrue())
	g.Expect(dead.Healthy()).To(BeFalse())
	g.Expect(dead.Answers.Reason).To(ContainSubstring("etcd on node n2"))
}

func memberNamed(s model.Snapshot, name string) model.Member {
	for _, m := range s.Etcd.Members.Value {
		if m.Name == name {
			return m
		}
	}
	return model.Member{}
}

func TestLeavingMachine(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	m := w.AddServer(0)
	began := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	m.Annotations[clusterv1.PreTerminateDeleteHookAnnotationPrefix+"/backup"] = "velero"
	m.Annotations[clusterv1.PreDrainDeleteHookAnnotationPrefix+"/dns"] = ""
	m.Annotations[clusterv1.DeleteMachineAnnotation] = ""
	delete(m.Annotations, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation)
	g.Expect(w.Management.Update(t.Context(), m)).To(Succeed())
	m.Status.NodeRef.Name = "n0"
	m.Status.Deletion = &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: began}
	m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineDeletingWaitingForPreTerminateHookReason, Message: "held", LastTransitionTime: metav1.Now()}}
	g.Expect(w.Management.Status().Update(t.Context(), m)).To(Succeed())
	g.Expect(w.Management.Delete(t.Context(), m)).To(Succeed())

	node := &corev1.Node{}
	g.Expect(w.Workload.Get(t.Context(), client.ObjectKey{Name: "n0"}, node)).To(Succeed())
	node.Labels[corev1.LabelNodeExcludeBalancers] = "true"
	node.Annotations[workload.ExcludedAtAnnotation] = began.UTC().Format(time.RFC3339)
	node.Annotations[controlplanev1.EtcdRemoveAnnotation] = "true"
	g.Expect(w.Workload.Update(t.Context(), node)).To(Succeed())

	got := look(t, w, observer(w, &network{})).Machines[0]
	g.Expect(got.Deleting).To(BeTrue())
	g.Expect(got.DeletingSince.IsZero()).To(BeFalse())
	g.Expect(got.Phase).To(Equal(model.PhaseWaitingForPreTerm))
	g.Expect(got.PhaseSince).To(BeTemporally("==", began.Time))
	g.Expect(got.Detail).To(Equal("held"))
	g.Expect(got.PreDrainHook).To(BeFalse())
	g.Expect(got.PreTerminateHook).To(BeTrue())
	g.Expect(got.ForeignPreTerminate).To(Equal([]model.Hook{{Name: "backup", Owner: "velero"}}))
	g.Expect(got.ForeignPreDrain).To(Equal([]model.Hook{{Name: "dns"}}))
	g.Expect(got.DeletionWished).To(BeTrue())
	g.Expect(got.Node.Value.Excluded).To(BeTrue())
	g.Expect(got.Node.Value.ExcludedAt).To(BeTemporally("==", began.Time))
	g.Expect(got.Node.Value.RemovalAsked).To(BeTrue())
	g.Expect(got.Node.Value.RemovalAskedAt.IsZero()).To(BeTrue(), "asked by somebody else: long ago")
}

func TestNodes(t *testing.T) {
	tests := map[string]struct {
		change     func(*worldtest.World, *corev1.Node)
		want       model.Node
		components model.Fact[bool]
	}{
		"not ready": {
			change:     condition(corev1.ConditionFalse),
			want:       model.Node{Exists: true, Ready: model.No, MemberAnnotated: true},
			components: model.Fact[bool]{Known: true, Value: true},
		},
		"kubelet does not report": {
			change:     condition(corev1.ConditionUnknown),
			want:       model.Node{Exists: true, Ready: model.Unclear, MemberAnnotated: true},
			components: model.Fact[bool]{Reason: "the kubelet of Node n0 does not report"},
		},
		"without a server's labels": {
			change:     func(_ *worldtest.World, n *corev1.Node) { n.Labels = nil },
			want:       model.Node{Exists: true, Ready: model.Yes, MemberAnnotated: true},
			components: model.Fact[bool]{Known: true, Value: true},
		},
		"without RKE2's annotations": {
			change:     func(_ *worldtest.World, n *corev1.Node) { n.Annotations = nil },
			want:       model.Node{Exists: true, Ready: model.Yes},
			components: model.Fact[bool]{Known: true, Value: true},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := worldtest.New(t, 0)
			w.AddServer(0)
			node := &corev1.Node{}
			g.Expect(w.Workload.Get(t.Context(), client.ObjectKey{Name: "n0"}, node)).To(Succeed())
			tt.change(w, node)
			status := node.DeepCopy()
			g.Expect(w.Workload.Update(t.Context(), node)).To(Succeed())
			status.ResourceVersion = node.ResourceVersion
			g.Expect(w.Workload.Status().Update(t.Context(), status)).To(Succeed())
			m := look(t, w, observer(w, &network{})).Machines[0]
			g.Expect(m.Node.Value).To(Equal(tt.want))
			got := m.Components[observe.Etcd]
			got.At = time.Time{}
			g.Expect(got).To(Equal(tt.components))
		})
	}
}

func condition(status corev1.ConditionStatus) func(*worldtest.World, *corev1.Node) {
	return func(_ *worldtest.World, n *corev1.Node) { n.Status.Conditions[0].Status = status }
}

func TestComponentsSayWhatIsWrong(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	w.AddServer(0)
	g.Expect(w.Workload.Delete(t.Context(), worldtest.Pod("etcd", "n0"))).To(Succeed())
	pod := worldtest.Pod("kube-scheduler", "n0")
	g.Expect(w.Workload.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	pod.Status.Conditions[0].Status, pod.Status.Conditions[0].Reason = corev1.ConditionFalse, "ContainersNotReady"
	g.Expect(w.Workload.Status().Update(t.Context(), pod)).To(Succeed())
	m := look(t, w, observer(w, &network{})).Machines[0]
	g.Expect(m.Components["etcd"]).To(And(HaveField("Known", true), HaveField("Value", false), HaveField("Reason", "pod etcd-n0 does not exist")))
	g.Expect(m.Components["kube-scheduler"]).To(And(HaveField("Known", true), HaveField("Value", false), HaveField("Reason", ContainSubstring("ContainersNotReady"))))
}

func TestGoneNodeAndGoneInfrastructure(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	w.AddServer(0)
	g.Expect(w.Workload.Delete(t.Context(), worldtest.Node("n0"))).To(Succeed())
	s := w.Scope()
	g.Expect(w.Management.Delete(t.Context(), s.Infrastructure["m0"].Object)).To(Succeed())
	m := look(t, w, observer(w, &network{})).Machines[0]
	g.Expect(m.Node).To(And(HaveField("Known", true), HaveField("Value.Exists", false)))
	g.Expect(m.InfrastructureGone).To(And(HaveField("Known", true), HaveField("Value", true)))
}

func TestRegistration(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for name, tt := range map[string]struct {
		err   error
		known bool
		value bool
		dials int
	}{
		"answers":    {known: true, value: true, dials: 1},
		"is refused": {err: refused, known: true, dials: 2},
		"times out":  {err: errors.New("i/o timeout"), dials: 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := worldtest.New(t, 0)
			w.AddServer(0) // One of three: more will join.
			n := &network{err: tt.err}
			o := observer(w, n)
			look(t, w, o)
			c := look(t, w, o).Cluster
			g.Expect(c.RegistrationAddress).To(Equal("10.0.0.100:9345"))
			g.Expect(c.Registration.Known).To(Equal(tt.known))
			g.Expect(c.Registration.Value).To(Equal(tt.value))
			g.Expect(n.dials).To(Equal(tt.dials), "only a success is remembered")
		})
	}
}

func TestMissingSecretIsNamed(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	gone := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: secrets.Names("c").Token}}
	g.Expect(w.Management.Delete(t.Context(), gone)).To(Succeed())
	c := look(t, w, observer(w, &network{})).Cluster
	g.Expect(c.Certificates).To(And(HaveField("Known", true), HaveField("Value", false)))
	g.Expect(c.CertificateProblem).To(ContainSubstring("demo/c-token"))
}

func TestProblemsOfTheSpec(t *testing.T) {
	surge := func(v intstr.IntOrString) *controlplanev1.RolloutStrategy {
		return &controlplanev1.RolloutStrategy{RollingUpdate: &controlplanev1.RollingUpdate{MaxSurge: &v}}
	}
	for name, tt := range map[string]struct {
		change func(*controlplanev1.RKE2ControlPlaneSpec)
		want   string
	}{
		"version":      {func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Version = "latest" }, "spec.version"},
		"percentage":   {func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RolloutStrategy = surge(intstr.FromString("50%")) }, "50%"},
		"surge of two": {func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RolloutStrategy = surge(intstr.FromInt32(2)) }, "0 or 1"},
		"no surge, one only": {func(s *controlplanev1.RKE2ControlPlaneSpec) {
			s.Replicas, s.RolloutStrategy = ptr.To[int32](1), surge(intstr.FromInt32(0))
		}, "at least 3"},
		"unknown rollout": {func(s *controlplanev1.RKE2ControlPlaneSpec) {
			s.RolloutStrategy = &controlplanev1.RolloutStrategy{Type: "OnDelete"}
		}, "OnDelete"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := worldtest.New(t, 0)
			s := w.Scope()
			tt.change(&s.ControlPlane.Spec)
			snap, err := observer(w, &network{}).Observe(t.Context(), s)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Join(snap.ControlPlane.Problems, "; ")).To(ContainSubstring(tt.want))
		})
	}
}

func TestWorkersCountOnDeletion(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	labels := map[string]string{clusterv1.ClusterNameLabel: "c"}
	w.Create(w.Management, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "worker", Labels: labels}})
	w.Create(w.Management, &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "pool", Labels: labels}})
	g.Expect(look(t, w, observer(w, &network{})).Cluster.Workers).To(BeZero())
	g.Expect(w.Management.Delete(t.Context(), w.ControlPlane.DeepCopy())).To(Succeed())
	g.Expect(look(t, w, observer(w, &network{})).Cluster.Workers).To(Equal(2))
}
