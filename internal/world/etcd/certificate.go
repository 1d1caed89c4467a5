package etcd

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// clientName is who we are in etcd's logs.
	clientName = "drover.cluster.x-k8s.io"
	// serverName is in every serving certificate RKE2 makes for etcd.
	serverName = "localhost"
	// certificateLife and renewBefore bound how long a leaked client key is
	// of use.
	certificateLife = 6 * time.Hour
	renewBefore     = 2 * time.Hour
	// clockSkew is how far a member's clock may be behind.
	clockSkew = 10 * time.Minute
)

// Authority is the certificate authority of a cluster's etcd, as in the
// Secret <cluster>-etcd.
type Authority struct {
	// Certificate and Key are PEM. The key may be RSA or EC, in any of the
	// usual encodings.
	Certificate, Key []byte
}

// fingerprint identifies the authority without revealing the key.
func (a Authority) fingerprint() string {
	sum := sha256.New()
	sum.Write(a.Certificate)
	key := sha256.Sum256(a.Key)
	sum.Write(key[:])
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// issuer makes and renews the client certificate of one cluster.
type issuer struct {
	authority *x509.Certificate
	key       crypto.Signer
	roots     *x509.CertPool
	now       func() time.Time

	mu      sync.Mutex
	current *tls.Certificate
	expires time.Time
}

func newIssuer(a Authority, now func() time.Time) (*issuer, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.Certificate) {
		return nil, errors.New("etcd authority: tls.crt holds no certificate")
	}
	authority, err := parseCertificate(a.Certificate)
	if err != nil {
		return nil, fmt.Errorf("etcd authority: tls.crt: %w", err)
	}
	// The error of the parser is left out: it could quote the key.
	parsed, err := keyutil.ParsePrivateKeyPEM(a.Key)
	if err != nil {
		return nil, errors.New("etcd authority: tls.key holds no readable private key")
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New("etcd authority: tls.key can't sign")
	}
	return &issuer{authority: authority, key: key, roots: roots, now: now}, nil
}

func (i *issuer) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    i.roots,
		ServerName: serverName,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return i.certificate()
		},
	}
}

// parseCertificate reads the first certificate: the one that belongs to the
// key.
func parseCertificate(data []byte) (*x509.Certificate, error) {
	certs, err := cert.ParseCertsPEM(data)
	if err != nil {
		return nil, err
	}
	return certs[0], nil
}

// certificate returns the present client certificate, or a new one when it
// is near its end.
func (i *issuer) certificate() (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	if i.current != nil && now.Before(i.expires.Add(-renewBefore)) {
		return i.current, nil
	}
	issued, err := i.issue(now)
	if err != nil {
		return nil, fmt.Errorf("make etcd client certificate: %w", err)
	}
	i.current, i.expires = issued, now.Add(certificateLife)
	return issued, nil
}

func (i *issuer) issue(now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)),
		Subject:      pkix.Name{CommonName: clientName},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.authority, key.Public(), i.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, i.authority.Raw}, PrivateKey: key}, nil
}
