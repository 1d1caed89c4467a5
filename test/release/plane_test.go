package release

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	bootstrapv1beta1 "github.com/drover-project/drover/api/bootstrap/v1beta1"
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/test/apiserver"
)

// plane is a management cluster: an API server with the kinds of Cluster API
// and of the laboratory's infrastructure, which logs every request.
type plane struct {
	kube   client.Client
	config *rest.Config
	audit  string
}

func startPlane(t *testing.T) *plane {
	t.Helper()
	folder := t.TempDir()
	policy := filepath.Join(folder, "policy.yaml")
	const everything = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`
	if err := os.WriteFile(policy, []byte(everything), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &plane{audit: filepath.Join(folder, "audit.log")}
	server := apiserver.Start(t, apiserver.Options{
		Kinds: []apiserver.Kinds{apiserver.ClusterAPI, apiserver.Laboratory},
		Arguments: func(arguments *envtest.Arguments) {
			arguments.
				Set("audit-policy-file", policy).Set("audit-log-path", p.audit).
				// Whoever makes itself indispensable to the deletion of an owner must be allowed to.
				Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
		},
	})
	p.config = server.Config
	var err error
	if p.kube, err = server.Client(scheme(t)); err != nil {
		t.Fatal(err)
	}
	return p
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme,
		bootstrapv1.AddToScheme, bootstrapv1beta1.AddToScheme, controlplanev1.AddToScheme, controlplanev1beta1.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// install creates or replaces objects.
func (p *plane) install(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		if err := p.apply(t.Context(), object.DeepCopy()); err != nil {
			t.Fatalf("install %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func (p *plane) apply(ctx context.Context, object *unstructured.Unstructured) error {
	err := p.kube.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GroupVersionKind())
	if err := p.kube.Get(ctx, client.ObjectKeyFromObject(object), found); err != nil {
		return err
	}
	object.SetResourceVersion(found.GetResourceVersion())
	return p.kube.Update(ctx, object)
}

// reachable lets the API server find the manager of a provider at an address of
// this machine, as the network of a cluster would: through the same Service,
// with the same name in the certificate.
func reachable(t *testing.T, objects []*unstructured.Unstructured, webhooks netip.AddrPort) []*unstructured.Unstructured {
	t.Helper()
	var changed []*unstructured.Unstructured
	for _, object := range objects {
		switch object.GetKind() {
		case "Service":
			object = object.DeepCopy()
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": webhooks.Addr().String()}
		case "MutatingWebhookConfiguration":
			c := into[admissionv1.MutatingWebhookConfiguration](t, object)
			for i := range c.Webhooks {
				c.Webhooks[i].ClientConfig.Service.Port = ptr.To(int32(webhooks.Port()))
			}
			object = untyped(t, c)
		case "ValidatingWebhookConfiguration":
			c := into[admissionv1.ValidatingWebhookConfiguration](t, object)
			for i := range c.Webhooks {
				c.Webhooks[i].ClientConfig.Service.Port = ptr.To(int32(webhooks.Port()))
			}
			object = untyped(t, c)
		case "CustomResourceDefinition":
			crd := into[apiextensionsv1.CustomResourceDefinition](t, object)
			crd.Spec.Conversion.Webhook.ClientConfig.Service.Port = ptr.To(int32(webhooks.Port()))
			object = untyped(t, crd)
		}
		changed = append(changed, object)
	}
	return changed
}

// aggregated fills in the rules that the controller of aggregated ClusterRoles
// would collect; it does not run here.
func aggregated(t *testing.T, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	roles := all[rbacv1.ClusterRole](t, objects, "ClusterRole")
	var changed []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetKind() == "ClusterRole" {
			role := into[rbacv1.ClusterRole](t, object)
			if role.AggregationRule != nil {
				role.Rules = sum(t, role.AggregationRule, roles)
				role.AggregationRule = nil
				object = untyped(t, role)
			}
		}
		changed = append(changed, object)
	}
	return changed
}

func sum(t *testing.T, rule *rbacv1.AggregationRule, roles []*rbacv1.ClusterRole) []rbacv1.PolicyRule {
	t.Helper()
	var rules []rbacv1.PolicyRule
	for i := range rule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&rule.ClusterRoleSelectors[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range roles {
			if selector.Matches(labels.Set(role.Labels)) {
				rules = append(rules, role.Rules...)
			}
		}
	}
	return rules
}

func untyped(t *testing.T, object client.Object) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	return &unstructured.Unstructured{Object: content}
}

// patience is how long anything may take on a busy machine; mostly it takes a
// second.
const patience = 3 * time.Minute

// poll waits for a condition; what it returns says what is still missing.
func poll(t *testing.T, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := condition(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatal(fmt.Errorf("after %s: %w", patience, last))
		case <-tick.C:
		}
	}
}
