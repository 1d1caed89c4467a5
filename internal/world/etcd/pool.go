package etcd

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/drover-project/drover/internal/model"
)

const (
	// Port is where etcd serves clients.
	Port = 2379
	// CallTimeout bounds each call, dialling included.
	CallTimeout = 3 * time.Second
	// shortTimeout bounds a status call to a member that failed to answer
	// within the last silenceLife.
	shortTimeout = 1500 * time.Millisecond
	silenceLife  = time.Minute
	// idleLife is how long an unused connection is kept.
	idleLife = 2 * time.Minute
)

// Pool keeps connections to members, apart for each cluster. It is safe for
// concurrent use.
type Pool struct {
	now func() time.Time

	mu       sync.Mutex
	clusters map[string]*Cluster
}

// NewPool returns an empty pool. Now is the clock, nil the wall clock.
func NewPool(now func() time.Time) *Pool {
	if now == nil {
		now = time.Now
	}
	return &Pool{now: now, clusters: map[string]*Cluster{}}
}

// Cluster returns the access to the members of a cluster. The UID is that of
// the Cluster object: names may be used again, UIDs are not. When the
// authority changed, all former connections are closed. The routes, of which
// there must be one, serve connections opened from now on; the first is tried
// first.
func (p *Pool) Cluster(uid string, authority Authority, routes ...Route) (*Cluster, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeIdle()
	print := authority.fingerprint()
	if c, ok := p.clusters[uid]; ok {
		if c.fingerprint == print {
			c.use(routes)
			return c, nil
		}
		c.close()
		delete(p.clusters, uid)
	}
	issuer, err := newIssuer(authority, p.now)
	if err != nil {
		return nil, err
	}
	c := &Cluster{now: p.now, fingerprint: print, issuer: issuer, routes: routes, conns: map[string]*pooled{}, paths: map[string]model.Path{}, silent: map[string]time.Time{}, used: p.now()}
	p.clusters[uid] = c
	return c, nil
}

// Forget closes all connections of a cluster.
func (p *Pool) Forget(uid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.clusters[uid]; ok {
		c.close()
		delete(p.clusters, uid)
	}
}

// Start implements manager.Runnable: it closes idle connections until the
// context ends, and then all.
func (p *Pool) Start(ctx context.Context) error {
	tick := time.NewTicker(idleLife / 2)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.mu.Lock()
			p.closeIdle()
			p.mu.Unlock()
		case <-ctx.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			for uid, c := range p.clusters {
				c.close()
				delete(p.clusters, uid)
			}
			return nil
		}
	}
}

// closeIdle closes what was not used for a while. The client certificate of a
// cluster goes with its last connection.
func (p *Pool) closeIdle() {
	before := p.now().Add(-idleLife)
	for uid, c := range p.clusters {
		if c.closeIdle(before) {
			delete(p.clusters, uid)
		}
	}
}

// Cluster is the access to the etcd members of one cluster. Members are
// addressed by the node they run on.
type Cluster struct {
	now         func() time.Time
	fingerprint string
	issuer      *issuer

	mu     sync.Mutex
	routes []Route
	conns  map[string]*pooled
	used   time.Time
	// paths are the ways that the connections to the nodes were opened on.
	paths map[string]model.Path
	// silent is when a node's member last failed to answer.
	silent map[string]time.Time
}

type pooled struct {
	*grpc.ClientConn
	used time.Time
}

func (c *Cluster) use(routes []Route) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.routes = routes
	c.used = c.now()
}

// patience is how long to wait for a node's member.
func (c *Cluster) patience(node string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.silent[node]; ok && c.now().Sub(at) < silenceLife {
		return shortTimeout
	}
	return CallTimeout
}

// remember notes whether a node's member was silent.
func (c *Cluster) remember(node string, silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if silent {
		c.silent[node] = c.now()
	} else {
		delete(c.silent, node)
	}
}

// conn returns the connection to a node's member. gRPC opens it with the
// first call.
func (c *Cluster) conn(node string) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.conns[node]; ok {
		known.used = c.now()
		return known.ClientConn, nil
	}
	opened, err := grpc.NewClient("passthrough:///"+node,
		grpc.WithTransportCredentials(credentials.NewTLS(c.issuer.tlsConfig())),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.open(ctx, node) }),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: CallTimeout}),
		// A tunnel through a node that vanished would otherwise look open for
		// minutes. etcd tolerates pings from 5 seconds apart.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: CallTimeout}),
	)
	if err != nil {
		return nil, fmt.Errorf("etcd on node %s: %w", node, err)
	}
	c.conns[node] = &pooled{ClientConn: opened, used: c.now()}
	return opened, nil
}

func (c *Cluster) open(ctx context.Context, node string) (net.Conn, error) {
	c.mu.Lock()
	routes := c.routes
	c.mu.Unlock()
	conn, path, err := dialFirst(ctx, routes, node)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths[node] = path
	return conn, nil
}

// Path is the way that the member on a node was last reached on, empty if it
// never was.
func (c *Cluster) Path(node string) model.Path {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paths[node]
}

// drop closes a connection that went bad, unless it was replaced meanwhile.
func (c *Cluster) drop(node string, bad *grpc.ClientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.conns[node]; ok && known.ClientConn == bad {
		delete(c.conns, node)
	}
	_ = bad.Close()
}

func (c *Cluster) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for node, conn := range c.conns {
		_ = conn.Close()
		delete(c.conns, node)
	}
}

// closeIdle tells whether the cluster itself is idle.
func (c *Cluster) closeIdle(before time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for node, conn := range c.conns {
		if conn.used.Before(before) {
			_ = conn.Close()
			delete(c.conns, node)
		}
	}
	return len(c.conns) == 0 && c.used.Before(before)
}
