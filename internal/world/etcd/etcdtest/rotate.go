package etcdtest

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"os"
	"path/filepath"
)

// RenewServing gives the members a new serving certificate of the same
// authority, from their next start on.
func (c *Cluster) RenewServing() {
	c.t.Helper()
	pair, err := tls.X509KeyPair(c.Authority.Certificate, c.Authority.Key)
	if err != nil {
		c.t.Fatal(err)
	}
	authority, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		c.t.Fatal(err)
	}
	key, _, der := makeCertificate(c.t, authority, pair.PrivateKey.(*ecdsa.PrivateKey), &x509.Certificate{
		Subject: pkix.Name{CommonName: "etcd-server"}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	for name, content := range map[string][]byte{"server.crt": certPEM(der), "server.key": keyPEM(c.t, key)} {
		if err := os.WriteFile(filepath.Join(c.dir, name), content, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
}

// RotateAuthority gives the members a new authority and serving certificate,
// from their next start on.
func (c *Cluster) RotateAuthority() {
	c.t.Helper()
	c.Authority = NewAuthority(c.t, c.dir)
}

// Restart ends a member without warning and starts it on its data.
func (c *Cluster) Restart(m *Member) {
	c.t.Helper()
	c.Kill(m)
	c.start(m, c.initialCluster(), "existing")
}
