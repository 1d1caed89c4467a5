package observe_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/world/workload"
	"github.com/drover-project/drover/internal/world/worldtest"
)

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
	g.Expect(w.Workload.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: workload.SystemNamespace, Name: workload.RemovalLease},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("n0")},
	})).To(Succeed())

	got := look(t, w, observer(w, &network{})).Machines[0]
	g.Expect(got.Node.Value.RemovesMembers).To(BeTrue())
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
