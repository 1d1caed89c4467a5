package certmanager

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestSelfSignedCertificateVerifiesItself(t *testing.T) {
	cert, key, err := selfSigned([]string{"webhook.system.svc", "webhook.system.svc.cluster.local"})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(cert) {
		t.Fatal("the certificate is no PEM")
	}
	for name, want := range map[string]bool{"webhook.system.svc": true, "other.system.svc": false} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots})
		if (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// newAPI runs an API server with the stand-in on it.
func newAPI(t *testing.T) client.Client {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		// `make unit` sets it; this is where it puts the binaries.
		assets, _ = filepath.Abs("../../../bin/envtest")
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: assets}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("start an API server (`make envtest` provides it): %v", err)
	}
	t.Cleanup(func() { _ = environment.Stop() })
	if err := Start(t.Context(), config, logr.Discard()); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func made(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := object(kind)
	o.SetNamespace("default")
	o.SetName(name)
	o.Object["spec"] = spec
	return o
}

func certificate(name, issuer string) *unstructured.Unstructured {
	return made("Certificate", name, map[string]any{
		"secretName": name + "-tls", "dnsNames": []any{"hook.default.svc"}, "issuerRef": map[string]any{"name": issuer},
	})
}

func TestCertificates(t *testing.T) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(20 * time.Second)
	c := newAPI(t)
	configuration := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks", Annotations: map[string]string{injectAnnotation: "default/good"}},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "a.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionv1.SideEffectClassNone),
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "default", Name: "hook"}},
		}},
	}
	for _, o := range []client.Object{
		configuration,
		made("Issuer", "self", map[string]any{"selfSigned": map[string]any{}}), made("Issuer", "acme", map[string]any{"acme": map[string]any{}}),
		certificate("good", "self"), certificate("bad", "acme"),
	} {
		g.Expect(c.Create(t.Context(), o)).To(Succeed())
	}

	secret := &corev1.Secret{}
	g.Eventually(func() error {
		return c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "good-tls"}, secret)
	}).Should(Succeed())
	_, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() bool {
		return c.Get(t.Context(), client.ObjectKeyFromObject(configuration), configuration) == nil &&
			bytes.Equal(configuration.Webhooks[0].ClientConfig.CABundle, secret.Data[authorityKey])
	}).Should(BeTrue(), "the authority is in the webhook configuration")

	g.Eventually(func() string { return message(t, c, "bad") }).Should(ContainSubstring("self-signed certificates only"))
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "bad-tls"}, secret)).NotTo(Succeed())
}

func message(t *testing.T, c client.Client, name string) string {
	o := certificate(name, "")
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		return err.Error()
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var all []string
	for _, condition := range conditions {
		all = append(all, condition.(map[string]any)["message"].(string))
	}
	return strings.Join(all, "; ")
}
