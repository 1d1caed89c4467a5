package secrets

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reader and writer of the functions below: r has to read live, not from a cache, because a Secret that was missed
// would be made anew.

// EnsureCA returns one certificate authority of a cluster and creates it if there is none. What is returned was read
// back from the API, so a machine never gets an authority that no Secret holds.
//
// Call it only before the cluster is initialized. Afterwards a missing authority cannot be replaced: use LookupCA.
func EnsureCA(ctx context.Context, c client.Writer, r client.Reader, cluster client.ObjectKey, purpose Purpose,
	owner metav1.OwnerReference) (CAPair, error) {
	pair, err := LookupCA(ctx, r, cluster, purpose)
	if err == nil {
		return pair, completeChain(client.ObjectKey{Namespace: cluster.Namespace, Name: CAName(cluster.Name, purpose)}, pair)
	}
	if !IsNotFound(err) {
		return pair, err
	}
	made, err := newCA(purpose, time.Now())
	if err != nil {
		return CAPair{}, fmt.Errorf("make the certificate authority of Secret %s/%s: %w",
			cluster.Namespace, CAName(cluster.Name, purpose), err)
	}
	if err := KeepCA(ctx, c, cluster, purpose, made, owner); err != nil {
		return CAPair{}, err
	}
	return LookupCA(ctx, r, cluster, purpose)
}

// KeepCA creates the Secret of a certificate authority that exists. A Secret that is there already is left as it is.
func KeepCA(ctx context.Context, c client.Writer, cluster client.ObjectKey, purpose Purpose, pair CAPair, owner metav1.OwnerReference) error {
	data := map[string][]byte{CertKey: pair.Cert, PrivateKeyKey: pair.Key}
	return create(ctx, c, cluster, CAName(cluster.Name, purpose), owner, data)
}

// EnsureToken returns the token servers join a cluster with and creates it if there is none. What is returned was read
// back from the API.
//
// Call it only before the cluster is initialized; afterwards use LookupToken.
func EnsureToken(ctx context.Context, c client.Writer, r client.Reader, cluster client.ObjectKey,
	owner metav1.OwnerReference) (string, error) {
	return ensureValue(ctx, c, r, cluster, Names(cluster.Name).Token, owner)
}

// EnsureAgentToken does the same for the token workers join with. All servers have to agree on whether there is one, so
// no cluster gets it that has servers already.
func EnsureAgentToken(ctx context.Context, c client.Writer, r client.Reader, cluster client.ObjectKey,
	owner metav1.OwnerReference) (string, error) {
	return ensureValue(ctx, c, r, cluster, Names(cluster.Name).AgentToken, owner)
}

func ensureValue(ctx context.Context, c client.Writer, r client.Reader, cluster client.ObjectKey, name string,
	owner metav1.OwnerReference) (string, error) {
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: name}
	token, err := lookupValue(ctx, r, key)
	if !IsNotFound(err) {
		return token, err
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("make the token of Secret %s: %w", key, err)
	}
	data := map[string][]byte{ValueKey: []byte(hex.EncodeToString(random))}
	if err := create(ctx, c, cluster, name, owner, data); err != nil {
		return "", err
	}
	return lookupValue(ctx, r, key)
}

// create makes a Secret. That somebody else made it meanwhile is no error: the caller reads it afterwards.
func create(ctx context.Context, c client.Writer, cluster client.ObjectKey, name string, owner metav1.OwnerReference,
	data map[string][]byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       cluster.Namespace,
			Name:            name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: cluster.Name},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Type: Type,
		Data: data,
	}
	if err := c.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Secret %s/%s: %w", cluster.Namespace, name, err)
	}
	return nil
}

const (
	// caYears is how long a new certificate authority is valid. RKE2 gives its own the same time.
	caYears = 10
	// clockSkew is how far a machine's clock may lag behind.
	clockSkew = 5 * time.Minute
)

// newCA makes a certificate authority with a key of the kind RKE2 makes (ECDSA P-256).
func newCA(purpose Purpose, now time.Time) (CAPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return CAPair{}, fmt.Errorf("generate a key: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: purpose.commonName()},
		NotBefore:             now.Add(-clockSkew).UTC(),
		NotAfter:              now.AddDate(caYears, 0, 0).UTC(),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return CAPair{}, fmt.Errorf("sign the certificate: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return CAPair{}, fmt.Errorf("marshal the key: %w", err)
	}
	return CAPair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, nil
}
