package act_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
	"github.com/drover-project/drover/internal/world/worldtest"
	"github.com/drover-project/drover/test/apiserver"
)

// kube starts a real API server with the definitions of Cluster API, of this
// project and of an infrastructure provider.
func kube(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := apiserver.Start(t, apiserver.Options{
		Kinds: []apiserver.Kinds{apiserver.ClusterAPI, apiserver.Drover},
		CRDs: []*apiextensionsv1.CustomResourceDefinition{
			apiserver.InfrastructureKind(worldtest.InfraGroup, "v1beta2", "LabMachine"), apiserver.InfrastructureKind(worldtest.InfraGroup, "v1beta2", "LabMachineTemplate"),
		},
	}).Client(scheme)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// real is a control plane on a real API server.
type real struct {
	Gomega
	t     *testing.T
	c     client.Client
	actor *act.Actor
	cp    *controlplanev1.RKE2ControlPlane
}

func newReal(t *testing.T) *real {
	t.Helper()
	r := &real{Gomega: NewWithT(t), t: t, c: kube(t)}
	r.Expect(r.c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: worldtest.Namespace}})).To(Succeed())
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: worldtest.Namespace, Name: "c"}}
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "RKE2ControlPlane", Name: "cp"}
	r.Expect(r.c.Create(t.Context(), cluster)).To(Succeed())
	r.Expect(r.c.Create(t.Context(), worldtest.Template("t"))).To(Succeed())
	r.cp = &controlplanev1.RKE2ControlPlane{ObjectMeta: metav1.ObjectMeta{
		Namespace: worldtest.Namespace, Name: "cp", Finalizers: []string{controlplanev1.RKE2ControlPlaneFinalizer},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c", UID: cluster.UID}},
	}}
	r.cp.Spec.Version = worldtest.Version
	r.cp.Spec.Replicas = ptr.To[int32](1)
	r.cp.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"team": "x"}
	r.cp.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: worldtest.InfraGroup, Kind: "LabMachineTemplate", Name: "t"}
	r.Expect(r.c.Create(t.Context(), r.cp)).To(Succeed())
	r.actor = act.New(act.Options{Client: r.c, Live: r.c, Connector: r.connector(), Recorder: events.NewFakeRecorder(100)})
	return r
}

func (r *real) connector() *connect.Connector {
	offline := worldtest.New(r.t, 0)
	offline.Connected = false
	return &connect.Connector{Secrets: r.c, Clusters: workload.New(offline.Connections()), Members: etcd.NewPool(nil)}
}

func (r *real) scope() *scope.Scope {
	r.t.Helper()
	cp := &controlplanev1.RKE2ControlPlane{}
	r.Expect(r.c.Get(r.t.Context(), client.ObjectKeyFromObject(r.cp), cp)).To(Succeed())
	s, err := scope.Load(r.t.Context(), r.c, r.c, cp)
	r.Expect(err).NotTo(HaveOccurred())
	return s
}

func (r *real) do(action model.Action) error {
	r.t.Helper()
	s := r.scope()
	snap, err := observe.New(observe.Options{Client: r.c, Live: r.c, Connector: r.connector()}).Observe(r.t.Context(), s)
	r.Expect(err).NotTo(HaveOccurred())
	return r.actor.Do(r.t.Context(), s, snap, action)
}

// The life of a server, as far as the API server has a say in it.
func TestOnARealAPIServer(t *testing.T) {
	r := newReal(t)
	r.Expect(r.do(model.CreateMachine{Purpose: model.First})).To(Succeed())
	s := r.scope()
	r.Expect(s.Machines).To(HaveLen(1))
	name := s.Names()[0]
	m := s.Machines[name]
	r.Expect(s.Configs).To(HaveKey(name))
	r.Expect(s.Infrastructure[name].Err).NotTo(HaveOccurred())
	r.Expect(s.Infrastructure[name].Object.GetLabels()).To(HaveKeyWithValue("team", "x"))
	r.Expect(m.ManagedFields).To(ContainElement(And(HaveField("Manager", controlplanev1.FieldManager), HaveField("Operation", metav1.ManagedFieldsOperationApply))))

	m.Finalizers = []string{clusterv1.MachineFinalizer}
	r.Expect(r.c.Update(t.Context(), m)).To(Succeed())
	r.Expect(r.do(model.DeleteMachine{Machine: name, Why: "test"})).To(Succeed())
	m = r.scope().Machines[name]
	r.Expect(m.DeletionTimestamp.IsZero()).To(BeFalse())

	m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: clusterv1.MachineDeletingWaitingForPreTerminateHookReason, LastTransitionTime: metav1.Now()}}
	r.Expect(r.c.Status().Update(t.Context(), m)).To(Succeed())
	r.Expect(r.do(model.ReleasePreTerminateHook{Machine: name})).To(Succeed(), "it never became a server")
	m = r.scope().Machines[name]
	r.Expect(m.Annotations).NotTo(HaveKey(controlplanev1.PreTerminateHookCleanupAnnotation))
	r.Expect(m.Annotations).To(HaveKeyWithValue(clusterv1.ExcludeNodeDrainingAnnotation, "true"))

	r.Expect(r.c.Delete(t.Context(), r.cp)).To(Succeed())
	r.Expect(r.do(model.FinishDeletion{})).To(beRefused("1 Machines are still there"))
	m.Finalizers = nil
	r.Expect(r.c.Update(t.Context(), m)).To(Succeed())
	r.Expect(r.do(model.FinishDeletion{})).To(Succeed())
	err := r.c.Get(t.Context(), client.ObjectKeyFromObject(r.cp), &controlplanev1.RKE2ControlPlane{})
	r.Expect(client.IgnoreNotFound(err)).To(Succeed())
	r.Expect(err).To(HaveOccurred())
}

// Two controllers that both believe to be alone make one first server.
func TestOnlyOneFirstServerIsMade(t *testing.T) {
	r := newReal(t)
	s := r.scope()
	snap, err := observe.New(observe.Options{Client: r.c, Live: r.c, Connector: r.connector()}).Observe(t.Context(), s)
	r.Expect(err).NotTo(HaveOccurred())
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- r.actor.Do(t.Context(), s, snap, model.CreateMachine{Purpose: model.First}) }()
	}
	first, second := <-results, <-results
	r.Expect([]bool{act.IsRefused(first), act.IsRefused(second)}).To(ConsistOf(true, false), "%v, %v", first, second)
	r.Expect(r.scope().Machines).To(HaveLen(1))
}
