package certificates

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/drover-project/drover/test/loopback"
)

const refusal = "refused by the webhook of the test"

// site is a namespace with a Service that leads to an address of this process, and
// callers of the webhooks behind it.
type site struct {
	options    Options
	address    netip.AddrPort
	mutating   *admissionv1.MutatingWebhookConfiguration
	validating *admissionv1.ValidatingWebhookConfiguration
	crd        *apiextensionsv1.CustomResourceDefinition
}

// newSite makes everything that the manifests of a provider have. The webhooks
// are asked about the ConfigMaps of the namespace.
func newSite(t *testing.T, name string) site {
	t.Helper()
	s := site{address: loopback.Address(), options: Options{
		Namespace: name, Secret: "webhook-certificate", Service: "webhooks",
		Mutating: []string{name}, Validating: []string{name}, Converted: []string{"things." + name + ".example.com"},
	}}
	meta := metav1.ObjectMeta{Name: name}
	service := func(path string) admissionv1.WebhookClientConfig {
		return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
			Namespace: name, Name: "webhooks", Path: &path, Port: ptr.To(int32(s.address.Port())),
		}}
	}
	rules := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	here := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
	s.mutating = &admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionv1.MutatingWebhook{{
		Name: "change.example.com", ClientConfig: service("/allow"), Rules: rules, NamespaceSelector: here,
		SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
	}}}
	s.validating = &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "check.example.com", ClientConfig: service("/refuse"), Rules: rules, NamespaceSelector: here,
		SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
	}}}
	s.crd = convertedKind(name, s.address.Port())
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: meta},
		// The API server goes to the name, and expects the certificate of the Service.
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "webhooks"},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: s.address.Addr().String()}},
		s.mutating, s.validating, s.crd,
	}
	for _, object := range objects {
		if err := kube.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// convertedKind is a kind with two versions.
func convertedKind(name string, port uint16) *apiextensionsv1.CustomResourceDefinition {
	version := func(version string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{Name: version, Served: true, Storage: storage,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}
	}
	group := name + ".example.com"
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Kind: "Thing", Plural: "things"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", false), version("v2", true)},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
					Namespace: name, Name: "webhooks", Path: ptr.To("/convert"), Port: ptr.To(int32(port)),
				}},
			}},
		},
	}
}

// serve starts a server of the site, and stops it with the test.
func (s site) serve(t *testing.T) *Server {
	t.Helper()
	server, err := NewServer(config, kube, s.options, webhook.Options{Host: s.address.Addr().String(), Port: int(s.address.Port())})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(response admission.Response) *webhook.Admission {
		return &webhook.Admission{Handler: admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return response })}
	}
	server.Register("/allow", answer(admission.Allowed("")))
	server.Register("/refuse", answer(admission.Denied(refusal)))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server
}

// asked says whether the API server reached both admission webhooks.
func (s site) asked(ctx context.Context) func() bool {
	return func() bool {
		err := kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.options.Namespace, GenerateName: "a-"}}, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), refusal)
	}
}

// callers reads all who have to know the authority, and returns what they know.
func (s site) callers(t *testing.T) (bundles [][]byte, versions []string) {
	t.Helper()
	for _, caller := range []client.Object{s.mutating, s.validating, s.crd} {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(caller), caller); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, caller.GetResourceVersion())
	}
	return [][]byte{s.mutating.Webhooks[0].ClientConfig.CABundle, s.validating.Webhooks[0].ClientConfig.CABundle,
		s.crd.Spec.Conversion.Webhook.ClientConfig.CABundle}, versions
}

func (s site) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := kube.Get(t.Context(), s.options.key(), secret); err != nil {
		t.Fatal(err)
	}
	return secret
}
