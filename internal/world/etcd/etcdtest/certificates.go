package etcdtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/drover-project/drover/internal/world/etcd"
)

// NewAuthority makes an authority and a serving certificate for "localhost"
// only, and writes what etcd reads.
func NewAuthority(t *testing.T, dir string) etcd.Authority {
	t.Helper()
	caKey, caCert, caDER := makeCertificate(t, nil, nil, &x509.Certificate{
		Subject: pkix.Name{CommonName: "etcd-server-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	authority := etcd.Authority{Certificate: certPEM(caDER), Key: keyPEM(t, caKey)}
	write(t, dir, "ca.crt", authority.Certificate)
	makeServing(t, dir, caCert, caKey)
	return authority
}

// makeServing makes a serving certificate of an authority and writes it to where
// etcd reads it.
func makeServing(t *testing.T, dir string, authority *x509.Certificate, authorityKey *ecdsa.PrivateKey) {
	t.Helper()
	key, _, der := makeCertificate(t, authority, authorityKey, &x509.Certificate{
		Subject: pkix.Name{CommonName: "etcd-server"}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	write(t, dir, "server.crt", certPEM(der))
	write(t, dir, "server.key", keyPEM(t, key))
}

func write(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func makeCertificate(t *testing.T, parent *x509.Certificate, parentKey *ecdsa.PrivateKey, template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert, der
}

// clientTLS is a client of the test itself.
func clientTLS(t *testing.T, a etcd.Authority) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(a.Certificate, a.Key)
	if err != nil {
		t.Fatal(err)
	}
	caCert, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	key, _, der := makeCertificate(t, caCert, pair.PrivateKey.(*ecdsa.PrivateKey), &x509.Certificate{
		Subject: pkix.Name{CommonName: "test"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	roots := x509.NewCertPool()
	roots.AddCert(caCert)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: "localhost", Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}
