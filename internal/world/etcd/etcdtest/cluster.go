// Package etcdtest runs real etcd members for tests, set up the way RKE2 does
// it, on this machine and for the length of one test.
package etcdtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/test/loopback"
)

// Member is one etcd process. Its name is that of its node and a suffix, as
// RKE2 makes it: n0-00000000 runs on node n0.
type Member struct {
	Name         string
	client, peer string
	process      *exec.Cmd
	exited       chan struct{}
	log          bytes.Buffer
}

// Cluster is a set of etcd processes with TLS as RKE2 sets it up: one
// authority for servers and clients, and "localhost" in the serving
// certificate. Heartbeat and election are ten times faster than RKE2's.
type Cluster struct {
	Authority etcd.Authority
	Members   []*Member

	t   *testing.T
	dir string

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
		t.Skip("KUBEBUILDER_ASSETS does not name the folder with the etcd binary")
	}
	return filepath.Join(dir, "etcd")
}

// Start starts n voters and waits until they have a leader.
func Start(t *testing.T, n int) *Cluster {
	t.Helper()
	c := &Cluster{t: t, dir: t.TempDir(), blackholes: map[string]bool{}, dials: map[string]int{}}
	c.Authority = NewAuthority(t, c.dir)
	for i := range n {
		c.Members = append(c.Members, &Member{Name: fmt.Sprintf("n%d-0000000%d", i, i), client: loopback.Address().String(), peer: loopback.Address().String()})
	}
	for _, m := range c.Members {
		c.start(m, c.initialCluster(), "new")
	}
	access := c.Access(etcd.NewPool(time.Now))
	g := gomega.NewWithT(t)
	g.Eventually(func(g gomega.Gomega) {
		for _, m := range c.Members {
			m.mustRun()
			status, err := access.Status(t.Context(), m.Node())
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(status.Leader).NotTo(gomega.BeZero())
		}
		members, err := access.Members(t.Context(), c.Members[0].Node())
		g.Expect(err).NotTo(gomega.HaveOccurred())
		for _, m := range members {
			g.Expect(m.Name).NotTo(gomega.BeEmpty())
		}
	}, "30s", "50ms").Should(gomega.Succeed())
	return c
}

// Node is the name of the node the member runs on.
func (m *Member) Node() string { return m.Name[:strings.LastIndexByte(m.Name, '-')] }

func (c *Cluster) initialCluster() string {
	var parts []string
	for _, m := range c.Members {
		parts = append(parts, m.Name+"=http://"+m.peer)
	}
	return strings.Join(parts, ",")
}

func (c *Cluster) start(m *Member, initial, state string) {
	c.t.Helper()
	file := func(name string) string { return filepath.Join(c.dir, name) }
	m.process = exec.CommandContext(context.WithoutCancel(c.t.Context()), etcdBinary(c.t),
		"--name", m.Name, "--data-dir", file(m.Name),
		"--listen-client-urls", "https://"+m.client, "--advertise-client-urls", "https://"+m.client,
		"--listen-peer-urls", "http://"+m.peer, "--initial-advertise-peer-urls", "http://"+m.peer,
		"--initial-cluster", initial, "--initial-cluster-state", state,
		"--client-cert-auth", "--trusted-ca-file", file("ca.crt"), "--cert-file", file("server.crt"), "--key-file", file("server.key"),
		"--heartbeat-interval", "50", "--election-timeout", "500", "--unsafe-no-fsync", "--log-level", "error",
	)
	m.process.Env = append(os.Environ(), "GOMAXPROCS=1")
	m.process.Stdout, m.process.Stderr = &m.log, &m.log
	if err := m.process.Start(); err != nil {
		c.t.Fatal(err)
	}
	m.exited = make(chan struct{})
	go func() { _ = m.process.Wait(); close(m.exited) }()
	c.t.Cleanup(func() { c.Kill(m) })
}

// mustRun ends the waiting when the member has ended, with what etcd said.
func (m *Member) mustRun() {
	select {
	case <-m.exited:
		gomega.StopTrying(fmt.Sprintf("etcd %s ended: %s", m.Name, m.log.String())).Now()
	default:
	}
}

// Kill ends a member without warning.
func (c *Cluster) Kill(m *Member) {
	_ = m.process.Process.Kill()
	<-m.exited
}

// Access returns a client of the cluster.
func (c *Cluster) Access(pool *etcd.Pool) *etcd.Cluster {
	c.t.Helper()
	access, err := pool.Cluster("uid-1", c.Authority, c.Route())
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { pool.Forget("uid-1") })
	return access
}

// Dial stands in for the port-forward.
func (c *Cluster) Dial(ctx context.Context, node string) (net.Conn, error) {
	c.mu.Lock()
	c.dials[node]++
	hole := c.blackholes[node]
	c.mu.Unlock()
	if hole {
		near, far := net.Pipe()
		c.t.Cleanup(func() { _ = far.Close() })
		return near, nil
	}
	for _, m := range c.Members {
		if m.Node() == node {
			return (&net.Dialer{}).DialContext(ctx, "tcp", m.client)
		}
	}
	return nil, fmt.Errorf("no node %s", node)
}

// Route is Dial as the way that goes through kubelets.
func (c *Cluster) Route() etcd.Route { return etcd.Route{Path: model.PortForward, Dial: c.Dial} }

// Dialled is how often a node was dialled.
func (c *Cluster) Dialled(node string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dials[node]
}

// Blackhole makes new connections to a node open and stay silent.
func (c *Cluster) Blackhole(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blackholes[node] = true
}

// Leader returns the leader and one follower with their IDs.
func (c *Cluster) Leader(access *etcd.Cluster) (leader, follower *Member, leaderID, followerID uint64) {
	c.t.Helper()
	for _, m := range c.Members {
		status, err := access.Status(c.t.Context(), m.Node())
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

// AddLearner does what a joining server does: it adds a learner through the
// first member and starts it.
func (c *Cluster) AddLearner(name string) *Member {
	c.t.Helper()
	m := c.AddSilentLearner(name)
	c.Members = append(c.Members, m)
	c.start(m, c.initialCluster(), "existing")
	return m
}

// AddSilentLearner adds a learner that never starts.
func (c *Cluster) AddSilentLearner(name string) *Member {
	c.t.Helper()
	m := &Member{Name: name, client: loopback.Address().String(), peer: loopback.Address().String()}
	conn, err := grpc.NewClient(c.Members[0].client, grpc.WithTransportCredentials(credentials.NewTLS(clientTLS(c.t, c.Authority))))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	if _, err := pb.NewClusterClient(conn).MemberAdd(ctx, &pb.MemberAddRequest{PeerURLs: []string{"http://" + m.peer}, IsLearner: true}); err != nil {
		c.t.Fatal(err)
	}
	return m
}
