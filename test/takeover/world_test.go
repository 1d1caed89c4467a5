package takeover_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

const (
	infraGroup = "infrastructure.cluster.x-k8s.io"
	patience   = time.Minute
)

// kinds are the kinds of everything a cluster consists of.
var kinds = []schema.GroupVersionKind{
	clusterv1.GroupVersion.WithKind("Cluster"),
	controlplanev1.GroupVersion.WithKind("RKE2ControlPlane"),
	clusterv1.GroupVersion.WithKind("Machine"),
	bootstrapv1.GroupVersion.WithKind("RKE2Config"),
	{Group: infraGroup, Version: "v1", Kind: "TestMachine"},
	{Group: infraGroup, Version: "v1", Kind: "TestMachineTemplate"},
	corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
}

// world is a namespace for one cluster called demo.
type world struct {
	*testing.T
	*WithT
	ctx       context.Context
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, WithT: NewWithT(t), ctx: t.Context()}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	w.Expect(api.Create(w.ctx, namespace)).To(Succeed())
	w.namespace = namespace.Name
	seen.show(w.namespace, working)
	return w
}

func (w *world) meta(name string, labels map[string]string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels, OwnerReferences: owners}
}

// put creates an object and then reports the status it was given with.
func (w *world) put(obj client.Object) {
	w.Helper()
	wanted := obj.DeepCopyObject().(client.Object)
	w.Expect(api.Create(w.ctx, obj)).To(Succeed(), obj.GetName())
	bare := obj.DeepCopyObject().(client.Object)
	switch o := obj.(type) {
	case *clusterv1.Cluster:
		o.Status = wanted.(*clusterv1.Cluster).Status
	case *controlplanev1.RKE2ControlPlane:
		o.Status = wanted.(*controlplanev1.RKE2ControlPlane).Status
	case *bootstrapv1.RKE2Config:
		o.Status = wanted.(*bootstrapv1.RKE2Config).Status
	default:
		return
	}
	// A patch, since the reconcilers report already that they are paused.
	w.Expect(api.Status().Patch(w.ctx, obj, client.MergeFrom(bare))).To(Succeed(), obj.GetName())
}

func (w *world) apply(obj *unstructured.Unstructured, manager string) {
	w.Helper()
	w.Expect(api.Apply(w.ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(manager), client.ForceOwnership)).To(Succeed(), obj.GetName())
}

// fieldsOf is an object as fields, without those that only the API server sets.
func fieldsOf(t *testing.T, obj runtime.Object) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u
}

// cluster makes a Cluster that runs.
func (w *world) cluster(paused *bool) {
	w.Helper()
	cluster := &clusterv1.Cluster{
		ObjectMeta: w.meta("demo", nil),
		Spec: clusterv1.ClusterSpec{
			Paused:               paused,
			ClusterNetwork:       clusterv1.ClusterNetwork{ServiceDomain: "example.internal"},
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
			ControlPlaneRef:      clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "RKE2ControlPlane", Name: "demo-cp"},
			InfrastructureRef:    clusterv1.ContractVersionedObjectReference{APIGroup: infraGroup, Kind: "TestCluster", Name: "demo"},
		},
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	w.put(cluster)
}

// pause sets or drops spec.paused of the Cluster.
func (w *world) pause(paused *bool) {
	w.Helper()
	before := &clusterv1.Cluster{}
	w.get("demo", before)
	after := before.DeepCopy()
	after.Spec.Paused = paused
	w.Expect(api.Patch(w.ctx, after, client.MergeFrom(before))).To(Succeed())
}

func (w *world) clusterRef(controller *bool) metav1.OwnerReference {
	w.Helper()
	cluster := &clusterv1.Cluster{}
	w.get("demo", cluster)
	return metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "demo", UID: cluster.UID,
		Controller: controller, BlockOwnerDeletion: controller,
	}
}

func (w *world) get(name string, obj client.Object) {
	w.Helper()
	w.Expect(api.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, obj)).To(Succeed(), name)
}

func (w *world) readControlPlane() *controlplanev1.RKE2ControlPlane {
	w.Helper()
	cp := &controlplanev1.RKE2ControlPlane{}
	w.get("demo-cp", cp)
	return cp
}

// change updates the control plane.
func (w *world) change(f func(*controlplanev1.RKE2ControlPlane)) {
	w.Helper()
	before := w.readControlPlane()
	after := before.DeepCopy()
	f(after)
	w.Expect(api.Patch(w.ctx, after, client.MergeFrom(before))).To(Succeed())
}

func (w *world) machines() []clusterv1.Machine {
	w.Helper()
	list := &clusterv1.MachineList{}
	w.Expect(api.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	return list.Items
}

// objects are all objects of the cluster by kind and name.
func (w *world) objects() map[string]*unstructured.Unstructured {
	w.Helper()
	out := map[string]*unstructured.Unstructured{}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		w.Expect(api.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
		for i := range list.Items {
			if list.Items[i].GetName() != "kube-root-ca.crt" {
				out[kind.Kind+"/"+list.Items[i].GetName()] = &list.Items[i]
			}
		}
	}
	return out
}

// resync has everything looked at on the test's own account until nothing
// changes any more, and then three times again, in which nothing may change.
func (w *world) resync() {
	w.Helper()
	versions := func() string {
		objects := w.objects()
		var b strings.Builder
		for _, key := range sortedKeys(objects) {
			fmt.Fprintf(&b, "%s %s\n", key, objects[key].GetResourceVersion())
		}
		return b.String()
	}
	reconcile := func() string {
		request := func(name string) ctrl.Request {
			return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: name}}
		}
		_, err := servers.Reconcile(w.ctx, request("demo-cp"))
		w.Expect(err).NotTo(HaveOccurred())
		for key := range w.objects() {
			if name, config := strings.CutPrefix(key, "RKE2Config/"); config {
				_, err := configs.Reconcile(w.ctx, request(name))
				w.Expect(err).NotTo(HaveOccurred())
			}
		}
		return versions()
	}
	w.Eventually(func() bool { return versions() == reconcile() }).WithTimeout(patience).Should(BeTrue(), "it never comes to rest")
	settled := versions()
	for range 3 {
		w.Expect(reconcile()).To(Equal(settled), "written without a change")
	}
}

func template(namespace string, owner metav1.OwnerReference) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"size": "small"}}}}}
	u.SetAPIVersion(infraGroup + "/v1")
	u.SetKind("TestMachineTemplate")
	u.SetNamespace(namespace)
	u.SetName("small")
	u.SetOwnerReferences([]metav1.OwnerReference{owner})
	return u
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
