package etcd_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/drover-project/drover/internal/world/etcd"
)

// realMember is one etcd process of the test, with RKE2's timing made ten
// times faster.
type realMember struct {
	name         string
	client, peer string
	process      *exec.Cmd
	exited       chan struct{}
}

// realCluster is a set of etcd processes with TLS as RKE2 sets it up: one
// authority for servers and clients, and "localhost" in the serving
// certificate.
type realCluster struct {
	t         *testing.T
	dir       string
	authority etcd.Authority
	members   []*realMember

	mu sync.Mutex
	// blackholes are the members whose connections are opened and never
	// answered.
	blackholes map[string]bool
	dials      map[string]int
}

func etcdBinary(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		dir = "../../../bin/envtest"
	}
	path, err := filepath.Abs(filepath.Join(dir, "etcd"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no etcd binary: %v", err)
	}
	return path
}

// startCluster starts n voters and waits until they have a leader.
func startCluster(t *testing.T, n int) *realCluster {
	t.Helper()
	c := &realCluster{t: t, dir: t.TempDir(), blackholes: map[string]bool{}, dials: map[string]int{}}
	c.authority = newAuthority(t, c.dir)
	for i := range n {
		c.members = append(c.members, &realMember{name: fmt.Sprintf("n%d-0000000%d", i, i), client: freeAddress(t), peer: freeAddress(t)})
	}
	for _, m := range c.members {
		c.start(m, c.initialCluster(), "new")
	}
	access := c.access(etcd.NewPool(time.Now))
	g := NewWithT(t)
	g.Eventually(func(g Gomega) {
		for _, m := range c.members {
			status, err := access.Status(t.Context(), m.node())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(status.Leader).NotTo(BeZero())
		}
		members, err := access.Members(t.Context(), c.members[0].node())
		g.Expect(err).NotTo(HaveOccurred())
		for _, m := range members {
			g.Expect(m.Name).NotTo(BeEmpty())
		}
	}, "30s", "50ms").Should(Succeed())
	return c
}

func (m *realMember) node() string { return m.name[:strings.LastIndexByte(m.name, '-')] }

func (c *realCluster) initialCluster() string {
	var parts []string
	for _, m := range c.members {
		parts = append(parts, m.name+"=http://"+m.peer)
	}
	return strings.Join(parts, ",")
}

func (c *realCluster) start(m *realMember, initial, state string) {
	c.t.Helper()
	file := func(name string) string { return filepath.Join(c.dir, name) }
	m.process = exec.Command(etcdBinary(c.t),
		"--name", m.name, "--data-dir", file(m.name),
		"--listen-client-urls", "https://"+m.client, "--advertise-client-urls", "https://"+m.client,
		"--listen-peer-urls", "http://"+m.peer, "--initial-advertise-peer-urls", "http://"+m.peer,
		"--initial-cluster", initial, "--initial-cluster-state", state,
		"--client-cert-auth", "--trusted-ca-file", file("ca.crt"), "--cert-file", file("server.crt"), "--key-file", file("server.key"),
		"--heartbeat-interval", "50", "--election-timeout", "500", "--unsafe-no-fsync", "--log-level", "error",
	)
	m.process.Env = append(os.Environ(), "GOMAXPROCS=1")
	if err := m.process.Start(); err != nil {
		c.t.Fatal(err)
	}
	m.exited = make(chan struct{})
	go func() { _ = m.process.Wait(); close(m.exited) }()
	c.t.Cleanup(func() { c.kill(m) })
}

func (c *realCluster) kill(m *realMember) {
	_ = m.process.Process.Kill()
	<-m.exited
}

func (c *realCluster) access(pool *etcd.Pool) *etcd.Cluster {
	c.t.Helper()
	access, err := pool.Cluster("uid-1", c.authority, c.dial)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { pool.Forget("uid-1") })
	return access
}

// dial stands in for the port-forward.
func (c *realCluster) dial(ctx context.Context, node string) (net.Conn, error) {
	c.mu.Lock()
	c.dials[node]++
	hole := c.blackholes[node]
	c.mu.Unlock()
	if hole {
		near, far := net.Pipe()
		c.t.Cleanup(func() { _ = far.Close() })
		return near, nil
	}
	for _, m := range c.members {
		if m.node() == node {
			return (&net.Dialer{}).DialContext(ctx, "tcp", m.client)
		}
	}
	return nil, fmt.Errorf("no node %s", node)
}

func (c *realCluster) dialled(node string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dials[node]
}

func (c *realCluster) blackhole(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blackholes[node] = true
}

// leader returns the leader and one follower.
func (c *realCluster) leader(access *etcd.Cluster) (leader, follower *realMember, leaderID, followerID uint64) {
	c.t.Helper()
	for _, m := range c.members {
		status, err := access.Status(c.t.Context(), m.node())
		if err != nil {
			c.t.Fatal(err)
		}
		if status.Leader == status.ID {
			leader, leaderID = m, status.ID
		} else {
			follower, followerID = m, status.ID
		}
	}
	if leader == nil {
		c.t.Fatal("no leader")
	}
	return leader, follower, leaderID, followerID
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// newAuthority makes an authority and a serving certificate for "localhost"
// only, and writes what etcd reads.
func newAuthority(t *testing.T, dir string) etcd.Authority {
	t.Helper()
	caKey, caCert, caDER := makeCertificate(t, nil, nil, &x509.Certificate{
		Subject: pkix.Name{CommonName: "etcd-server-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	serverKey, _, serverDER := makeCertificate(t, caCert, caKey, &x509.Certificate{
		Subject: pkix.Name{CommonName: "etcd-server"}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	authority := etcd.Authority{Certificate: certPEM(caDER), Key: keyPEM(t, caKey)}
	for name, content := range map[string][]byte{"ca.crt": authority.Certificate, "server.crt": certPEM(serverDER), "server.key": keyPEM(t, serverKey)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return authority
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
