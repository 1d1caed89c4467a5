package compat

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/contract"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/labclient"
)

// servedTimeout bounds how long the API server takes to serve new kinds.
const servedTimeout = time.Minute

// contractLabel names the version of a kind that follows Cluster API's contract v1beta2.
var contractLabel = clusterv1.GroupVersion.String()

// ownGroups are served by Cluster API's core or by Drover; nothing in them is a stub.
var ownGroups = []string{
	bootstrapGroup, controlPlaneGroup, clusterv1.GroupVersion.Group,
	"addons." + clusterv1.GroupVersion.Group, "ipam." + clusterv1.GroupVersion.Group, "runtime." + clusterv1.GroupVersion.Group,
}

// stubKinds collects the kinds of the samples that somebody else would serve:
// infrastructure providers, above all. A template brings the kind that is made
// from it.
func stubKinds(samples []*sample) []schema.GroupVersionKind {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, s := range samples {
		if s.notManifest != "" {
			continue
		}
		for _, o := range s.objects {
			kind := o.GroupVersionKind()
			if slices.Contains(ownGroups, kind.Group) || clientgoscheme.Scheme.Recognizes(kind) {
				continue
			}
			kinds[kind] = true
			if made, ok := strings.CutSuffix(kind.Kind, clusterv1.TemplateSuffix); ok {
				kinds[kind.GroupVersion().WithKind(made)] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
}

// stubCRD defines a kind that accepts everything, in the one version that the samples use.
func stubCRD(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	name := contract.CalculateCRDName(kind.Group, kind.Kind)
	plural, _, _ := strings.Cut(name, ".")
	open := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{contractLabel: kind.Version}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: kind.Kind, ListKind: kind.Kind + "List", Plural: plural, Singular: strings.ToLower(kind.Kind),
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": open, "status": open},
				}},
			}},
		},
	}
}

// installStubs creates the definitions and returns once all are served.
func installStubs(ctx context.Context, c client.WithWatch, kinds []schema.GroupVersionKind) error {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	missing := map[string]bool{}
	for _, kind := range kinds {
		crd := stubCRD(kind)
		if missing[crd.Name] {
			return fmt.Errorf("the samples have several versions of %s in %s; stubs serve one", kind.Kind, kind.Group)
		}
		if err := c.Create(ctx, crd); err != nil {
			return fmt.Errorf("stub of %s: %w", kind, err)
		}
		missing[crd.Name] = true
	}
	err := labclient.Await(ctx, c, &apiextensionsv1.CustomResourceDefinitionList{}, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				delete(missing, crd.Name)
			}
		}
		return len(missing) == 0
	})
	if err != nil {
		return fmt.Errorf("wait for stub kinds to be served: %w", err)
	}
	return nil
}
