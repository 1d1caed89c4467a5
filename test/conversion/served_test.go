package conversion_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	conversionutil "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1beta1 "github.com/drover-project/drover/api/bootstrap/v1beta1"
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/conversion/conversiontest"
	"github.com/drover-project/drover/test/apiserver"
)

// start runs an API server that has this project's kinds and no others: above all none of an infrastructure provider.
func start(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apiextensionsv1.AddToScheme, bootstrapv1.AddToScheme, bootstrapv1beta1.AddToScheme,
		controlplanev1.AddToScheme, controlplanev1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	env := conversiontest.Start(t, scheme, apiserver.Drover.Read(t))
	env.Serve(t, nil)
	return env.Client
}

// manifests reads the documents of a file.
func manifests(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		u := &unstructured.Unstructured{}
		if err := d.Decode(u); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, u)
	}
}

// apply applies a manifest the way GitOps tools do, and returns what is there afterwards in the manifest's version.
func apply(ctx context.Context, t *testing.T, kube client.Client, manifest *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	applied := manifest.DeepCopy()
	if err := kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("test"), client.ForceOwnership); err != nil {
		t.Fatalf("apply %s %s: %v", manifest.GetKind(), manifest.GetName(), err)
	}
	read := &unstructured.Unstructured{}
	read.SetGroupVersionKind(manifest.GroupVersionKind())
	if err := kube.Get(ctx, client.ObjectKeyFromObject(manifest), read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestV1Beta1Served(t *testing.T) {
	kube := start(t)
	files := manifests(t, "testdata/cluster.yaml")
	for _, manifest := range files {
		t.Run(manifest.GetKind()+"/"+manifest.GetName(), func(t *testing.T) {
			g := NewWithT(t)
			first := apply(t.Context(), t, kube, manifest)
			g.Expect(first.Object["spec"]).To(Equal(manifest.Object["spec"]))
			g.Expect(first.GetAnnotations()).NotTo(HaveKey(conversionutil.DataAnnotation), "v1beta2 has nothing that v1beta1 lacks")
			again := apply(t.Context(), t, kube, manifest)
			g.Expect(again.GetResourceVersion()).To(Equal(first.GetResourceVersion()), "nothing was changed, yet it was written")
		})
	}
	t.Run("stored as v1beta2", func(t *testing.T) { checkStored(t, kube) })
	t.Run("lists", func(t *testing.T) {
		g := NewWithT(t)
		for _, list := range []client.ObjectList{&bootstrapv1beta1.RKE2ConfigList{}, &bootstrapv1beta1.RKE2ConfigTemplateList{},
			&controlplanev1beta1.RKE2ControlPlaneList{}, &controlplanev1beta1.RKE2ControlPlaneTemplateList{}} {
			g.Expect(kube.List(t.Context(), list)).To(Succeed())
		}
		list := &controlplanev1beta1.RKE2ControlPlaneList{}
		g.Expect(kube.List(t.Context(), list)).To(Succeed())
		g.Expect(list.Items).To(HaveLen(3))
	})
	t.Run("a field removed in v1beta1", func(t *testing.T) { checkRemoval(t, kube, files[0]) })
	t.Run("status", func(t *testing.T) { checkStatus(t, kube) })
}

// checkStored reads the applied manifests as v1beta2.
func checkStored(t *testing.T, kube client.Client) {
	g := NewWithT(t)
	type deletion = controlplanev1.RKE2ControlPlaneMachineTemplateDeletionSpec
	docker := clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "DockerMachineTemplate", Name: "servers"}
	openStack := docker
	openStack.Kind = "OpenStackMachineTemplate"
	for name, want := range map[string]controlplanev1.RKE2ControlPlaneMachineTemplateSpec{
		"current": {InfrastructureRef: openStack, Deletion: deletion{
			NodeDrainTimeoutSeconds: ptr.To[int32](120), NodeVolumeDetachTimeoutSeconds: ptr.To[int32](2), NodeDeletionTimeoutSeconds: ptr.To[int32](0)}},
		"deprecated": {InfrastructureRef: docker, Deletion: deletion{NodeDrainTimeoutSeconds: ptr.To[int32](90)}},
		"both":       {InfrastructureRef: docker, Deletion: deletion{NodeDrainTimeoutSeconds: ptr.To[int32](60)}},
	} {
		stored := &controlplanev1.RKE2ControlPlane{}
		g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, stored)).To(Succeed())
		g.Expect(stored.Spec.MachineTemplate.Spec).To(Equal(want), name)
		g.Expect(stored.Spec.Version).To(Equal("v1.31.4+rke2r1"))
		// A write in v1beta2 must not be refused for anything conversion made.
		stored.Labels = map[string]string{"touched": "yes"}
		g.Expect(kube.Update(t.Context(), stored)).To(Succeed())
	}
	template := &controlplanev1.RKE2ControlPlaneTemplate{}
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "class"}, template)).To(Succeed())
	g.Expect(template.Spec.Template.Spec.MachineTemplate.Spec.InfrastructureRef).To(Equal(docker))
	g.Expect(template.Spec.Template.ObjectMeta.Labels).To(Equal(map[string]string{"team": "blue"}))
	config := &bootstrapv1.RKE2Config{}
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "worker"}, config)).To(Succeed())
	g.Expect(config.Spec.Files).To(Equal([]bootstrapv1.File{{Path: "/etc/motd", Content: "hello"}}))
	g.Expect(config.Spec.GzipUserData).To(Equal(ptr.To(false)))
}

// checkRemoval applies a manifest without a field it had before.
func checkRemoval(t *testing.T, kube client.Client, manifest *unstructured.Unstructured) {
	g := NewWithT(t)
	without := manifest.DeepCopy()
	unstructured.RemoveNestedField(without.Object, "spec", "machineTemplate", "nodeVolumeDetachTimeout")
	unstructured.RemoveNestedField(without.Object, "spec", "machineTemplate", "metadata")
	g.Expect(apply(t.Context(), t, kube, without).Object["spec"]).To(Equal(without.Object["spec"]))
	stored := &controlplanev1.RKE2ControlPlane{}
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(manifest), stored)).To(Succeed())
	g.Expect(stored.Spec.MachineTemplate.Spec.Deletion.NodeVolumeDetachTimeoutSeconds).To(BeNil())
}

// checkStatus writes a status in v1beta2, reads and writes it in v1beta1, and reads it in v1beta2.
func checkStatus(t *testing.T, kube client.Client) {
	g := NewWithT(t)
	key := client.ObjectKey{Namespace: "default", Name: "deprecated"}
	stored, old := &controlplanev1.RKE2ControlPlane{}, &controlplanev1beta1.RKE2ControlPlane{}
	g.Expect(kube.Get(t.Context(), key, stored)).To(Succeed())
	stored.Status = controlplanev1.RKE2ControlPlaneStatus{
		Initialization: controlplanev1.RKE2ControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(true)},
		Selector:       "a=b", Replicas: ptr.To[int32](3), ReadyReplicas: ptr.To[int32](2), AvailableReplicas: ptr.To[int32](2),
		UpToDateReplicas: ptr.To[int32](0), Version: "v1.31.4+rke2r1",
		Conditions: []metav1.Condition{{Type: "Available", Status: "True", Reason: "Available", LastTransitionTime: metav1.Now().Rfc3339Copy()}},
	}
	want := *stored.Status.DeepCopy()
	g.Expect(kube.Status().Update(t.Context(), stored)).To(Succeed())

	g.Expect(kube.Get(t.Context(), key, old)).To(Succeed())
	g.Expect(old.Status.Ready && old.Status.Initialized).To(BeTrue())
	g.Expect(old.Status.ReadyReplicas).To(Equal(int32(2)))
	g.Expect(old.Status.UnavailableReplicas).To(Equal(int32(1)))
	g.Expect(old.Status.Conditions).To(HaveLen(2))
	g.Expect(old.Spec.InfrastructureRef.Name).To(Equal("servers"))

	old.Labels = map[string]string{"touched": "in-v1beta1"}
	g.Expect(kube.Update(t.Context(), old)).To(Succeed())
	g.Expect(kube.Get(t.Context(), key, stored)).To(Succeed())
	g.Expect(stored.Status).To(BeComparableTo(want), "the status is what it was, also where v1beta1 has no word for it")

	old.Status.FailureReason = "Broken"
	g.Expect(kube.Status().Update(t.Context(), old)).To(Succeed())
	g.Expect(old.Status.FailureReason).To(Equal("Broken"))
	g.Expect(kube.Get(t.Context(), key, stored)).To(Succeed())
	g.Expect(stored.Status).To(BeComparableTo(want))
}
