package etcd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func authority(t *testing.T, ec bool) Authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "etcd-server-ca"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var der, key []byte
	var kind string
	var err error
	if ec {
		k, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		der, err = x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
		key, _ = x509.MarshalECPrivateKey(k)
		kind = "EC PRIVATE KEY"
	} else {
		k, _ := rsa.GenerateKey(rand.Reader, 2048)
		der, err = x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
		key, kind = x509.MarshalPKCS1PrivateKey(k), "RSA PRIVATE KEY"
	}
	if err != nil {
		t.Fatal(err)
	}
	return Authority{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: key}),
	}
}

func TestClientCertificate(t *testing.T) {
	for name, ec := range map[string]bool{"RSA authority": false, "EC authority": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Now()
			i, err := newIssuer(authority(t, ec), func() time.Time { return now })
			g.Expect(err).NotTo(HaveOccurred())
			first, err := i.certificate()
			g.Expect(err).NotTo(HaveOccurred())
			leaf, err := x509.ParseCertificate(first.Certificate[0])
			g.Expect(err).NotTo(HaveOccurred())
			_, err = leaf.Verify(x509.VerifyOptions{Roots: i.roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(leaf.IsCA).To(BeFalse())
			g.Expect(leaf.NotAfter.Sub(now)).To(BeNumerically("<=", certificateLife))
			g.Expect(leaf.SerialNumber.BitLen()).To(BeNumerically(">", 64), "the serial number is random")
			g.Expect(leaf.PublicKey).NotTo(Equal(i.key.Public()), "the authority's own key is never used as a client's")

			again, err := i.certificate()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(BeIdenticalTo(first), "it is kept while it is good for long enough")
			now = now.Add(certificateLife - renewBefore + time.Second)
			renewed, err := i.certificate()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(renewed).NotTo(BeIdenticalTo(first))
		})
	}
}

func TestUnreadableAuthority(t *testing.T) {
	g := NewWithT(t)
	good := authority(t, true)
	for _, a := range []Authority{{}, {Certificate: good.Certificate}, {Certificate: good.Certificate, Key: []byte("hunter2")}, {Key: good.Key}} {
		_, err := newIssuer(a, time.Now)
		g.Expect(err).To(HaveOccurred())
		g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
	}
}
