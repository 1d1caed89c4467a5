package release

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// commonVariables are those that clusterctl gives every template.
var commonVariables = []string{"NAMESPACE", "CLUSTER_NAME", "KUBERNETES_VERSION", "CONTROL_PLANE_MACHINE_COUNT", "WORKER_MACHINE_COUNT"}

// templates returns the names of all cluster templates and classes.
func templates(t *testing.T) []string {
	t.Helper()
	var names []string
	for name := range contents(t, filepath.Join(dist, "release")) {
		if strings.HasPrefix(name, "cluster-template") || strings.HasPrefix(name, "clusterclass") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// filled reads a template with some value for each of its variables.
func filled(t *testing.T, name, namespace string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dist, "release", name))
	if err != nil {
		t.Fatal(err)
	}
	names, err := yamlprocessor.NewSimpleProcessor().GetVariables(data)
	if err != nil {
		t.Fatal(err)
	}
	defaults, err := yamlprocessor.NewSimpleProcessor().GetVariableMap(data)
	if err != nil {
		t.Fatal(err)
	}
	values := variables(namespace, strings.TrimSuffix(strings.TrimPrefix(name, "cluster"), ".yaml"))
	values["CLUSTER_NAME"] = "c" + values["CLUSTER_NAME"]
	for _, variable := range names {
		if _, known := values[variable]; !known && defaults[variable] == nil {
			values[variable] = "value"
		}
	}
	values["CONTROL_PLANE_ENDPOINT_IP"] = "192.0.2.10"
	values["OPENSTACK_CLOUD_YAML_B64"], values["OPENSTACK_CLOUD_CACERT_B64"] = "dmFsdWU=", "dmFsdWU="
	return processed(t, name, data, values)
}

// Templates use the variables that clusterctl knows, and classes none at all,
// because a class is not made for one cluster.
func TestVariablesOfTemplates(t *testing.T) {
	for _, name := range templates(t) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			used, err := yamlprocessor.NewSimpleProcessor().GetVariables(contents(t, filepath.Join(dist, "release"))[name])
			g.Expect(err).NotTo(HaveOccurred())
			if strings.HasPrefix(name, "clusterclass") {
				g.Expect(used).To(BeEmpty())
				return
			}
			g.Expect(used).To(ContainElements(commonVariables))
		})
	}
}

// acceptsTemplates creates what each template makes, in a namespace of its own.
func (i installed) acceptsTemplates(t *testing.T) {
	for n, name := range templates(t) {
		t.Run(name, func(t *testing.T) {
			namespace := "templates-" + string(rune('a'+n))
			if err := i.kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
				t.Fatal(err)
			}
			objects := filled(t, name, namespace)
			i.standIns(t, objects)
			for _, object := range objects {
				if object.GetNamespace() == "" {
					object.SetNamespace(namespace)
				}
				strict := client.WithFieldValidation(i.kube, metav1.FieldValidationStrict)
				if err := strict.Create(t.Context(), object); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
}

// standIns makes the kinds of infrastructure that are not there; they accept
// everything.
func (i installed) standIns(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		name := contract.CalculateCRDName(gvk.Group, gvk.Kind)
		if gvk.Group != "infrastructure.cluster.x-k8s.io" || strings.HasPrefix(gvk.Kind, "Lab") {
			continue
		}
		plural, _, _ := strings.Cut(name, ".")
		crd := &apiextensionsv1.CustomResourceDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"cluster.x-k8s.io/v1beta2": gvk.Version}},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: gvk.Group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: gvk.Kind, Plural: plural},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: gvk.Version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", XPreserveUnknownFields: ptr.To(true)}}}},
			},
		}
		if err := i.apply(t.Context(), untyped(t, crd)); err != nil {
			t.Fatal(err)
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		poll(t, func(ctx context.Context) error { return i.kube.List(ctx, list) })
	}
}
