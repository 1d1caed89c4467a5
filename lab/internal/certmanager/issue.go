package certmanager

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// certificateAnnotation on a Secret names the Certificate that it belongs to.
	certificateAnnotation = "cert-manager.io/certificate-name"
	// validity is longer than any lab lives.
	validity = 365 * 24 * time.Hour
	// noChange is a merge patch that would write nothing.
	noChange = "{}"
)

// issuer gives each Certificate its Secret.
type issuer struct{ client client.Client }

func (i *issuer) setUp(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).Named("certificates").
		For(object("Certificate")).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, secret client.Object) []reconcile.Request {
			name := secret.GetAnnotations()[certificateAnnotation]
			if name == "" {
				return nil
			}
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: secret.GetNamespace(), Name: name}}}
		})).
		Complete(i)
}

func object(kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(groupVersion.WithKind(kind))
	return o
}

// Reconcile makes the Secret of a Certificate unless it is there.
func (i *issuer) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	certificate := object("Certificate")
	if err := i.client.Get(ctx, request.NamespacedName, certificate); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if certificate.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, nil
	}
	err := i.ensure(ctx, certificate)
	return reconcile.Result{}, errors.Join(err, i.tell(ctx, certificate, err))
}

func (i *issuer) ensure(ctx context.Context, certificate *unstructured.Unstructured) error {
	name := secretName(certificate)
	if name == "" {
		return errors.New("spec.secretName is missing")
	}
	key := client.ObjectKey{Namespace: certificate.GetNamespace(), Name: name}
	err := i.client.Get(ctx, key, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := i.checkIssuer(ctx, certificate); err != nil {
		return err
	}
	names, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	if err != nil || len(names) == 0 {
		return errors.Join(err, errors.New("spec.dnsNames is missing"))
	}
	cert, privateKey, err := selfSigned(names)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name,
			Annotations: map[string]string{certificateAnnotation: certificate.GetName()},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: privateKey, authorityKey: cert},
	}
	if err := i.client.Create(ctx, secret); err != nil {
		return fmt.Errorf("create Secret %s: %w", key, err)
	}
	return nil
}

// checkIssuer refuses all issuers but the one kind that is stood in for.
func (i *issuer) checkIssuer(ctx context.Context, certificate *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "name")
	if kind, found, _ := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "kind"); found && kind != "Issuer" {
		return fmt.Errorf("the laboratory has no issuers of kind %s", kind)
	}
	issuer := object("Issuer")
	if err := i.client.Get(ctx, client.ObjectKey{Namespace: certificate.GetNamespace(), Name: name}, issuer); err != nil {
		return fmt.Errorf("issuer %s: %w", name, err)
	}
	if _, found, _ := unstructured.NestedMap(issuer.Object, "spec", "selfSigned"); !found {
		return fmt.Errorf("issuer %s: the laboratory has self-signed certificates only", name)
	}
	return nil
}

// tell writes how it went into the condition Ready.
func (i *issuer) tell(ctx context.Context, certificate *unstructured.Unstructured, problem error) error {
	condition := map[string]any{"type": "Ready", "status": "True", "reason": "Ready", "message": "The certificate is in its Secret."}
	if problem != nil {
		condition = map[string]any{"type": "Ready", "status": "False", "reason": "Pending", "message": problem.Error()}
	}
	before := certificate.DeepCopy()
	if err := unstructured.SetNestedSlice(certificate.Object, []any{condition}, "status", "conditions"); err != nil {
		return err
	}
	patch := client.MergeFrom(before)
	if data, err := patch.Data(certificate); err != nil || string(data) == noChange {
		return err
	}
	return client.IgnoreNotFound(i.client.Status().Patch(ctx, certificate, patch))
}

func secretName(certificate *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	return name
}

// selfSigned makes a serving certificate that is its own authority.
func selfSigned(names []string) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, fmt.Errorf("make serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: names[0]},
		DNSNames:     names,
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, fmt.Errorf("sign certificate: %w", err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}), nil
}
