package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apply sends an object as the topology controller does.
func apply(t *testing.T, object *unstructured.Unstructured, try bool) (*unstructured.Unstructured, error) {
	t.Helper()
	object = object.DeepCopy()
	options := []client.ApplyOption{client.ForceOwnership, client.FieldOwner("capi-topology")}
	if try {
		options = append(options, client.DryRunAll)
		object.SetAnnotations(map[string]string{clusterv1.TopologyDryRunAnnotation: ""})
	}
	err := kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), options...)
	return object, err
}

// The topology controller applies an object on trial at every reconcile and
// changes it when the result differs from what is stored. Defaults must not
// look like a difference, or it would never come to rest.
func TestTopologyComesToRest(t *testing.T) {
	for name, manifest := range map[string]string{
		"control plane":   controlPlane,
		"config template": `{apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: RKE2ConfigTemplate, metadata: {name: a}, spec: {template: {spec: {preRKE2Commands: [ls]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			object := parse(t, space(t, nil), manifest)
			made, err := apply(t, object, false)
			if err != nil {
				t.Fatal(err)
			}
			tried, err := apply(t, object, true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(made.Object["spec"], tried.Object["spec"]); diff != "" {
				t.Errorf("(- made, + tried):\n%s", diff)
			}
			again, err := apply(t, object, false)
			if err != nil {
				t.Fatal(err)
			}
			if again.GetResourceVersion() != made.GetResourceVersion() {
				t.Error("the same object applied again was written again")
			}
		})
	}
}

func TestTopologyTriesChanges(t *testing.T) {
	template := parse(t, space(t, nil), `{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: RKE2ControlPlaneTemplate, metadata: {name: a}, spec: {template: {spec: {serverConfig: {cni: canal}}}}}`)
	if _, err := apply(t, template, false); err != nil {
		t.Fatal(err)
	}
	set(t, template, "cilium", "spec", "template", "spec", "serverConfig", "cni")
	tried, err := apply(t, template, true)
	if err != nil {
		t.Fatal(err)
	}
	if cni, _, _ := unstructured.NestedString(tried.Object, "spec", "template", "spec", "serverConfig", "cni"); cni != "cilium" {
		t.Errorf("got %q", cni)
	}
	warnings(t)
	if _, err := apply(t, template, false); err != nil {
		t.Fatal(err)
	}
	warnings(t, "spec.template.spec: the change reaches every Cluster of the ClusterClasses that use this template at once")

	cp := parse(t, template.GetNamespace(), controlPlane)
	if _, err := apply(t, cp, false); err != nil {
		t.Fatal(err)
	}
	set(t, cp, "v1.34.3+rke2r1", "spec", "version")
	_, err = apply(t, cp, true)
	refused(t, err, "a control plane cannot go back from v1.35.3+rke2r1")
}
