package api_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// A cluster that is taken over may hold objects the rules for new objects would refuse. Its owner and its controller
// must still be able to change everything else about them.
func TestStoredObjectsStayUsable(t *testing.T) {
	ctx := t.Context()
	object := controlPlane()
	object.Spec.RolloutStrategy = surge(intstr.FromString("25%"))
	storeWithoutRules(ctx, t, object)

	object.Status.Replicas = ptr.To[int32](1)
	if err := kube.Status().Update(ctx, object); err != nil {
		t.Errorf("status: %v", err)
	}
	object.Labels = map[string]string{"team": "blue"}
	if err := kube.Update(ctx, object); err != nil {
		t.Errorf("labels: %v", err)
	}
	object.Spec.Version = "v1.36.4+rke2r1"
	if err := kube.Update(ctx, object); err != nil {
		t.Errorf("version: %v", err)
	}
	object.Spec.RolloutStrategy = surge(intstr.FromString("50%"))
	refused(t, kube.Update(ctx, object), "maxSurge must be the integer 0 or 1")
}

// Rules about several fields cannot be tied to one that did not change. They know the stored object themselves.
func TestStoredFaultsOfSeveralFieldsStayUsable(t *testing.T) {
	ctx := t.Context()
	object := controlPlane()
	object.Spec.Version = ""
	object.Spec.Replicas, object.Spec.RolloutStrategy = ptr.To[int32](1), surge(intstr.FromInt32(0))
	object.Spec.RegistrationMethod = controlplanev1.RegistrationAddress
	storeWithoutRules(ctx, t, object)

	object.Spec.Replicas = ptr.To[int32](2)
	object.Spec.AgentConfig.DataDir = "/data"
	if err := kube.Update(ctx, object); err != nil {
		t.Fatalf("something else: %v", err)
	}
	for name, c := range map[string]struct {
		mend, spoil func(*controlplanev1.RKE2ControlPlaneSpec)
		want        string
	}{
		"version": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Version = "v1.36.3+rke2r1" },
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Version = "" },
			"version is required"},
		"surge": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Replicas = ptr.To[int32](3) },
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Replicas = ptr.To[int32](2) },
			"maxSurge 0 needs replicas of at least 3"},
		"address": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RegistrationAddress = "10.0.0.1" },
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RegistrationAddress = "" },
			"registrationAddress is required"},
	} {
		c.mend(&object.Spec)
		if err := kube.Update(ctx, object); err != nil {
			t.Fatalf("%s mended: %v", name, err)
		}
		spoiled := object.DeepCopy()
		c.spoil(&spoiled.Spec)
		refused(t, kube.Update(ctx, spoiled), c.want)
	}
}

// storeWithoutRules stores an object while its CRD has no CEL rules, then restores the CRD.
func storeWithoutRules(ctx context.Context, t *testing.T, object *controlplanev1.RKE2ControlPlane) {
	t.Helper()
	g := NewWithT(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	key := types.NamespacedName{Name: "rke2controlplanes.controlplane.cluster.x-k8s.io"}
	g.Expect(kube.Get(ctx, key, crd)).To(Succeed())
	rules := crd.DeepCopy()

	for _, version := range crd.Spec.Versions {
		version.Schema.OpenAPIV3Schema = withoutRules(t, version.Schema.OpenAPIV3Schema)
	}
	g.Expect(kube.Update(ctx, crd)).To(Succeed())
	// The API server takes up a changed schema with a delay.
	g.Eventually(func() error { return kube.Create(ctx, object) }, time.Minute, 100*time.Millisecond).Should(Succeed())
	t.Cleanup(func() {
		if err := kube.Delete(context.WithoutCancel(ctx), object); err != nil {
			t.Error(err)
		}
	})

	rules.ResourceVersion = crd.ResourceVersion
	g.Expect(kube.Update(ctx, rules)).To(Succeed())
	probe := controlPlane()
	probe.Spec.RolloutStrategy = object.Spec.RolloutStrategy
	g.Eventually(func() bool {
		return apierrors.IsInvalid(kube.Create(ctx, probe.DeepCopy(), client.DryRunAll))
	}, time.Minute, 100*time.Millisecond).Should(BeTrue())
}

// withoutRules returns a schema without any CEL rule in it.
func withoutRules(t *testing.T, schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	data, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	removeKey(values, "x-kubernetes-validations")
	if data, err = json.Marshal(values); err != nil {
		t.Fatal(err)
	}
	out := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// removeKey removes a key from a map and from every map inside it.
func removeKey(values map[string]any, key string) {
	delete(values, key)
	for _, value := range values {
		if inner, ok := value.(map[string]any); ok {
			removeKey(inner, key)
		}
	}
}
