package admission_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// storeUnchecked stores an object as if there were no webhooks yet, and leaves
// with the webhooks in place.
func storeUnchecked(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	namespace := space(t, map[string]string{unchecked: ""})
	object.SetNamespace(namespace)
	g.Expect(kube.Create(t.Context(), object)).To(Succeed())
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	g.Expect(kube.Patch(t.Context(), ns, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+unchecked+`":null}}}`)))).To(Succeed())
	// The API server sees the label go with a delay.
	probe := parse(t, namespace, controlPlane)
	probe.SetName("probe")
	set(t, probe, "https://join", "spec", "registrationAddress")
	set(t, probe, "address", "spec", "registrationMethod")
	g.Eventually(func() error { return kube.Create(t.Context(), probe.DeepCopy(), client.DryRunAll) }, time.Minute, 50*time.Millisecond).ShouldNot(Succeed())
	warned.clear()
}

// wrong is a control plane with three faults that other providers accept.
func wrong(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	cp := parse(t, "", controlPlane)
	set(t, cp, int64(3), "spec", "replicas")
	set(t, cp, "node-1", "spec", "agentConfig", "nodeName")
	set(t, cp, []any{map[string]any{"path": "/a", "contentFrom": map[string]any{
		"secret": map[string]any{"name": "a", "key": "b", "namespace": "other"}}}}, "spec", "files")
	set(t, cp, map[string]any{"docker.io": map[string]any{"endpoint": []any{"mirror.example.com"}}}, "spec", "privateRegistriesConfig", "mirrors")
	return cp
}

func TestStoredObjectsCanBeChanged(t *testing.T) {
	ctx, cp := t.Context(), wrong(t)
	storeUnchecked(t, cp)
	faults := []string{
		`not new, therefore not refused: spec.files[0].contentFrom.secret.namespace: Invalid value: "other"`,
		`not new, therefore not refused: spec.privateRegistriesConfig.mirrors[docker.io].endpoint[0]: Invalid value: "mirror.example.com"`,
		`not new, therefore not refused: spec.agentConfig.nodeName: Invalid value: "node-1"`,
	}

	set(t, cp, int64(3), "status", "replicas")
	if err := kube.Status().Update(ctx, cp); err != nil {
		t.Errorf("status: %v", err)
	}
	warnings(t)
	cp.SetFinalizers([]string{"example.com/wait"})
	if err := kube.Update(ctx, cp); err != nil {
		t.Errorf("finalizers: %v", err)
	}
	warnings(t, faults...)
	set(t, cp, "v1.36.0+rke2r1", "spec", "version")
	if err := kube.Update(ctx, cp); err != nil {
		t.Errorf("version: %v", err)
	}
	warnings(t, faults...)

	worse := cp.DeepCopy()
	set(t, worse, "node-2", "spec", "agentConfig", "nodeName")
	refused(t, kube.Update(ctx, worse), `spec.agentConfig.nodeName: Invalid value: "node-2": several servers cannot have one name`)
	warned.clear()

	if err := kube.Delete(ctx, cp); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := kube.Patch(ctx, cp, patch); err != nil {
		t.Errorf("the last finalizer: %v", err)
	}
	warnings(t)
}

// While an object leaves, nothing about it is refused, whatever else changes.
func TestNothingIsRefusedToWhatIsDeleted(t *testing.T) {
	ctx, cp := t.Context(), parse(t, space(t, nil), controlPlane)
	cp.SetFinalizers([]string{"example.com/wait"})
	if err := kube.Create(ctx, cp); err != nil {
		t.Fatal(err)
	}
	if err := kube.Delete(ctx, cp); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null},"spec":{"version":"v1.20.0+rke2r1","agentConfig":{"nodeName":"a"},"replicas":3}}`))
	if err := kube.Patch(ctx, cp, patch); err != nil {
		t.Error(err)
	}
}

// A controller that makes a config of settings which are older than a rule is
// not stopped: the control plane could not replace a server.
func TestConfigsMadeByControllersPass(t *testing.T) {
	namespace := space(t, nil)
	config := parse(t, namespace, machineConfig)
	set(t, config, map[string]any{"docker.io": map[string]any{"endpoint": []any{"mirror.example.com"}}}, "spec", "privateRegistriesConfig", "mirrors")
	refused(t, kube.Create(t.Context(), config.DeepCopy()), `endpoint[0]: Invalid value: "mirror.example.com"`)
	config.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "RKE2ControlPlane", Name: "cp", UID: "1"}})
	if err := kube.Create(t.Context(), config); err != nil {
		t.Error(err)
	}
	warnings(t, `not refused because the object has an owner: spec.privateRegistriesConfig.mirrors[docker.io].endpoint[0]: Invalid value: "mirror.example.com"`)
}
