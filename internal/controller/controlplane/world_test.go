package controlplane

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

const patience = 20 * time.Second

// world is a namespace with a cluster whose infrastructure is provisioned.
type world struct {
	*testing.T
	g         Gomega
	ctx       context.Context
	namespace string
	cluster   *clusterv1.Cluster
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, g: NewWithT(t), ctx: t.Context()}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	w.create(namespace)
	w.namespace = namespace.Name
	w.cluster = &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "demo"},
		Spec: clusterv1.ClusterSpec{
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: controlplanev1.GroupVersion.Group, Kind: "RKE2ControlPlane", Name: "demo-cp",
			},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "TestCluster", Name: "demo",
			},
		},
	}
	w.create(w.cluster)
	w.cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	w.g.Expect(api.Status().Update(w.ctx, w.cluster)).To(Succeed())
	return w
}

func (w *world) create(obj client.Object) {
	w.Helper()
	w.g.Expect(api.Create(w.ctx, obj)).To(Succeed())
}

func (w *world) template() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"size": "small"}}}}}
	u.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1")
	u.SetKind("TestMachineTemplate")
	u.SetNamespace(w.namespace)
	u.SetName("small")
	return u
}

// controlPlane stores a control plane, changed by the functions first.
func (w *world) controlPlane(change ...func(*controlplanev1.RKE2ControlPlane)) *controlplanev1.RKE2ControlPlane {
	w.Helper()
	cp := &controlplanev1.RKE2ControlPlane{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "demo-cp",
			Labels:          map[string]string{clusterv1.ClusterNameLabel: "demo"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.cluster, clusterv1.GroupVersion.WithKind("Cluster"))},
		},
		Spec: controlplanev1.RKE2ControlPlaneSpec{
			Version:  "v1.36.3+rke2r1",
			Replicas: ptr.To[int32](3),
			MachineTemplate: controlplanev1.RKE2ControlPlaneMachineTemplate{
				Spec: controlplanev1.RKE2ControlPlaneMachineTemplateSpec{
					InfrastructureRef: clusterv1.ContractVersionedObjectReference{
						APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "TestMachineTemplate", Name: "small",
					},
				},
			},
		},
	}
	for _, f := range change {
		f(cp)
	}
	w.create(cp)
	return cp
}

// get reads the control plane. It is nil when it does not exist.
func (w *world) get() *controlplanev1.RKE2ControlPlane {
	w.Helper()
	cp := &controlplanev1.RKE2ControlPlane{}
	err := api.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "demo-cp"}, cp)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.g.Expect(err).NotTo(HaveOccurred())
	return cp
}

func (w *world) update(change func(*controlplanev1.RKE2ControlPlane)) {
	w.Helper()
	before := w.get()
	after := before.DeepCopy()
	change(after)
	w.g.Expect(api.Patch(w.ctx, after, client.MergeFrom(before))).To(Succeed())
}

func (w *world) machines() []clusterv1.Machine {
	w.Helper()
	list := &clusterv1.MachineList{}
	w.g.Expect(api.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

func (w *world) configs() []bootstrapv1.RKE2Config {
	w.Helper()
	list := &bootstrapv1.RKE2ConfigList{}
	w.g.Expect(api.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

func (w *world) infra() []unstructured.Unstructured {
	w.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1", Kind: "TestMachineList"})
	w.g.Expect(api.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

func (w *world) secret(name string) *corev1.Secret {
	secret := &corev1.Secret{}
	if api.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, secret) != nil {
		return nil
	}
	return secret
}

// awaitMachines waits until there are exactly n Machines.
func (w *world) awaitMachines(n int) []clusterv1.Machine {
	w.Helper()
	w.g.Eventually(w.machines).WithTimeout(patience).Should(HaveLen(n), "conditions: %s", w.texts())
	return w.machines()
}

// awaitCondition waits for a condition whose message has all the parts.
func (w *world) awaitCondition(kind string, status metav1.ConditionStatus, parts ...string) {
	w.Helper()
	w.g.Eventually(func(g Gomega) {
		cp := w.get()
		g.Expect(cp).NotTo(BeNil())
		c := conditions.Get(cp, kind)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Status).To(Equal(status), c.Message)
		for _, part := range parts {
			g.Expect(c.Message).To(ContainSubstring(part))
		}
	}).WithTimeout(patience).Should(Succeed())
}

func (w *world) texts() string {
	var b strings.Builder
	if cp := w.get(); cp != nil {
		for _, c := range cp.Status.Conditions {
			b.WriteString(c.Type + "=" + string(c.Status) + ": " + c.Message + "\n")
		}
	}
	return b.String()
}

// poke makes the controller look again at once.
func (w *world) poke(reason string) {
	w.Helper()
	w.update(func(cp *controlplanev1.RKE2ControlPlane) {
		if cp.Annotations == nil {
			cp.Annotations = map[string]string{}
		}
		cp.Annotations["test/poke"] = reason
	})
}

// joined shows every Machine as a whole server: a Ready Node, healthy pods and
// a started voter.
func joined(s *model.Snapshot) {
	var members []model.Member
	for i := range s.Machines {
		m := &s.Machines[i]
		m.NodeName = "node-of-" + m.Name
		m.InfrastructureReady = true
		m.Node = model.Known(model.Node{Exists: true, Ready: model.Yes, MemberAnnotated: true}, s.Now)
		for name := range m.Components {
			m.Components[name] = model.Known(true, s.Now)
		}
		members = append(members, model.Member{
			ID: uint64(i + 1), Name: m.NodeName + "-1234abcd", Machine: m.Name, Leader: i == 0,
			Answers: model.Known(true, s.Now), NodeReady: model.Yes,
		})
	}
	s.ControlPlane.Initialized = len(members) > 0
	s.Cluster.Registration = model.Known(true, s.Now)
	s.Etcd.Members = model.Known(members, s.Now)
}

// userSecret is a Secret as a user brings it: without label and type, and here
// without content.
func userSecret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
