package etcdtest

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
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
	makeServing(c.t, c.dir, authority, pair.PrivateKey.(*ecdsa.PrivateKey))
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
