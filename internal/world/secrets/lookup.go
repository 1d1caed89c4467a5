package secrets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CAPair is a certificate authority: certificate and private key in PEM form. The key is a secret.
type CAPair struct {
	Cert, Key []byte
}

// ContentError says that a Secret is missing or cannot be used. Its text holds nothing of the Secret's content.
type ContentError struct {
	// Secret is the Secret at fault.
	Secret client.ObjectKey
	// NotFound is true when there is no such Secret.
	NotFound bool
	// Problem is what is wrong and the way out.
	Problem string
}

// Error names the Secret, the problem and the way out.
func (e *ContentError) Error() string {
	return fmt.Sprintf("Secret %s: %s", e.Secret, e.Problem)
}

// IsNotFound tells whether err says that a Secret does not exist.
func IsNotFound(err error) bool {
	var content *ContentError
	return errors.As(err, &content) && content.NotFound
}

const wayOut = "add it or delete the Secret before the cluster is initialized"

// LookupCA reads one certificate authority of a cluster and checks that it is one. Use a reader that sees Secrets
// without the cluster label as well, because users bring their own.
func LookupCA(ctx context.Context, r client.Reader, cluster client.ObjectKey, purpose Purpose) (CAPair, error) {
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: CAName(cluster.Name, purpose)}
	secret, err := get(ctx, r, key)
	if err != nil {
		return CAPair{}, err
	}
	pair := CAPair{Cert: secret.Data[CertKey], Key: secret.Data[PrivateKeyKey]}
	for _, part := range []struct {
		name  string
		value []byte
	}{{CertKey, pair.Cert}, {PrivateKeyKey, pair.Key}} {
		if len(part.value) == 0 {
			return CAPair{}, &ContentError{Secret: key, Problem: fmt.Sprintf("key %s is missing; %s", part.name, wayOut)}
		}
	}
	if problem := pair.Problem(time.Now()); problem != "" {
		return CAPair{}, &ContentError{Secret: key, Problem: problem}
	}
	return pair, nil
}

// Problem tells why the pair cannot sign anything, empty if it can. Errors of the parsers are left out: they may quote
// what they could not parse.
func (p CAPair) Problem(now time.Time) string {
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		return fmt.Sprintf("%s and %s are not a certificate and its private key in PEM form", CertKey, PrivateKeyKey)
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	switch {
	case err != nil:
		return CertKey + " is not a certificate in PEM form"
	case !cert.IsCA:
		return CertKey + " is not the certificate of a certificate authority"
	case now.After(cert.NotAfter):
		return fmt.Sprintf("the certificate in %s expired on %s", CertKey, cert.NotAfter.UTC().Format(time.RFC3339))
	default:
		return ""
	}
}

// Pool holds the certificates of an authority, a PEM document, to verify others
// with.
func Pool(authority []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return nil, errors.New("the server CA holds no certificate")
	}
	return pool, nil
}

// LookupToken reads the token servers join a cluster with. It is a secret.
func LookupToken(ctx context.Context, r client.Reader, cluster client.ObjectKey) (string, error) {
	return lookupValue(ctx, r, client.ObjectKey{Namespace: cluster.Namespace, Name: Names(cluster.Name).Token})
}

// LookupAgentToken reads the token workers join a cluster with, of a cluster that has one of its own for them. It is a
// secret.
func LookupAgentToken(ctx context.Context, r client.Reader, cluster client.ObjectKey) (string, error) {
	return lookupValue(ctx, r, client.ObjectKey{Namespace: cluster.Namespace, Name: Names(cluster.Name).AgentToken})
}

func lookupValue(ctx context.Context, r client.Reader, key client.ObjectKey) (string, error) {
	secret, err := get(ctx, r, key)
	if err != nil {
		return "", err
	}
	token := string(secret.Data[ValueKey])
	if token == "" {
		return "", &ContentError{Secret: key, Problem: fmt.Sprintf("key %s is missing; %s", ValueKey, wayOut)}
	}
	return token, nil
}

func get(ctx context.Context, r client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, &ContentError{Secret: key, NotFound: true, Problem: "it does not exist"}
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", key, err)
	}
	return secret, nil
}
