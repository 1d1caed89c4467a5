package connect

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// authority signs serving certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{}
	a.key, a.cert = a.issue(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().AddDate(10, 0, 0)})
	return a
}

func (a authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (a authority) issue(t *testing.T, template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore = big.NewInt(1), time.Now().AddDate(-2, 0, 0)
	template.Subject = pkix.Name{CommonName: "rke2-server-ca@1"}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}

// serve shakes hands at the other end of the returned connection, with a
// certificate that ends at the given time.
func (a authority) serve(t *testing.T, end time.Time) net.Conn {
	t.Helper()
	key, cert := a.issue(t, &x509.Certificate{NotAfter: end, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"kubernetes"}})
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close(); _ = far.Close() })
	go func() {
		_ = tls.Server(far, &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
		}).Handshake()
	}()
	return near
}

func TestServingExpiry(t *testing.T) {
	ours, other := newAuthority(t), newAuthority(t)
	later, past := time.Now().AddDate(0, 3, 0).Truncate(time.Second), time.Now().AddDate(0, -3, 0).Truncate(time.Second)
	for name, c := range map[string]struct {
		by   authority
		end  time.Time
		good bool
	}{
		"valid":                {ours, later, true},
		"expired":              {ours, past, true},
		"of another authority": {other, later, false},
	} {
		got, err := servingExpiry(t.Context(), c.by.serve(t, c.end), ours.pem())
		if (err == nil) != c.good || c.good && !got.Equal(c.end) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if _, err := servingExpiry(t.Context(), ours.serve(t, later), []byte("no PEM")); err == nil {
		t.Error("without an authority any certificate will do")
	}
}

// A server that takes the connection and says nothing must not hold anything up
// for longer than the deadline.
func TestSilentServer(t *testing.T) {
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := servingExpiry(ctx, near, newAuthority(t).pem()); err == nil {
		t.Error("a certificate of nobody")
	}
}
