package certmanager

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namespace is where cert-manager lives, and by which others see that it is there.
const namespace = "cert-manager"

// installTimeout bounds the installation, which takes a second or two.
const installTimeout = time.Minute

var groupVersion = schema.GroupVersion{Group: "cert-manager.io", Version: "v1"}

// kinds are the kinds of cert-manager that providers use.
var kinds = []string{"Certificate", "Issuer"}

func install(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}
	for _, kind := range kinds {
		objects = append(objects, definition(kind))
	}
	for _, o := range objects {
		if err := c.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s: %w", o.GetName(), err)
		}
	}
	return awaitKinds(ctx, c)
}

// definition describes a kind; what it may contain is not checked here.
func definition(kind string) *apiextensionsv1.CustomResourceDefinition {
	singular := strings.ToLower(kind)
	open := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + groupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: groupVersion.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: singular + "s", Singular: singular},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: groupVersion.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": open, "status": open},
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}

// awaitKinds follows the kinds until all are served.
func awaitKinds(ctx context.Context, c client.WithWatch) error {
	watcher, err := c.Watch(ctx, &apiextensionsv1.CustomResourceDefinitionList{})
	if err != nil {
		return fmt.Errorf("follow its kinds: %w", err)
	}
	defer watcher.Stop()
	served := map[string]bool{}
	for len(served) < len(kinds) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("its kinds are not served: %w", ctx.Err())
		case event, open := <-watcher.ResultChan():
			if !open {
				return fmt.Errorf("follow its kinds: the API server ended the watch")
			}
			if crd, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition); ok && crd.Spec.Group == groupVersion.Group && established(crd) {
				served[crd.Spec.Names.Kind] = true
			}
		}
	}
	return nil
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
