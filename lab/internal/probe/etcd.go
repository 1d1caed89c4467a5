package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	// memberPeriod is how often the member list is read. EtcdLogs places a removal in time; where no log tells of it, the
	// reads before and after it do.
	memberPeriod = 500 * time.Millisecond
	etcdTimeout  = time.Second
	etcdPort     = "2379"
)

// DialFunc opens a connection to an address inside the laboratory.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Member is one entry of etcd's member list.
type Member struct {
	ID      uint64
	Name    string
	Node    string
	Address string
	Learner bool
	Leader  bool
}

// Etcd reaches the members of one workload cluster directly, one client per member.
type Etcd struct {
	dial DialFunc
	tls  *tls.Config

	mu      sync.Mutex
	clients map[string]*clientv3.Client
}

// NewEtcd makes the access; it connects on first use. Close it at the end.
func NewEtcd(dial DialFunc, config *tls.Config) *Etcd {
	return &Etcd{dial: dial, tls: config, clients: map[string]*clientv3.Client{}}
}

// Close ends all connections.
func (e *Etcd) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.clients {
		_ = c.Close()
	}
	e.clients = map[string]*clientv3.Client{}
}

// Client returns the client of the member at an IP address.
func (e *Etcd) Client(ip string) (*clientv3.Client, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c, ok := e.clients[ip]; ok {
		return c, nil
	}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"https://" + net.JoinHostPort(ip, etcdPort)}, TLS: e.tls.Clone(), DialTimeout: etcdTimeout,
		Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return e.dial(ctx, "tcp", addr)
		})},
	})
	if err != nil {
		return nil, fmt.Errorf("etcd client for %s: %w", ip, err)
	}
	e.clients[ip] = c
	return c, nil
}

// Members reads the member list and the leader through the first address that answers with a quorum read.
func (e *Etcd) Members(ctx context.Context, addresses []string) ([]Member, error) {
	if len(addresses) == 0 {
		return nil, errors.New("no etcd address is known yet")
	}
	var errs []error
	for _, ip := range addresses {
		list, err := e.membersFrom(ctx, ip)
		if err == nil {
			return list, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", ip, err))
	}
	return nil, fmt.Errorf("read etcd members: %w", errors.Join(errs...))
}

func (e *Etcd) membersFrom(ctx context.Context, ip string) ([]Member, error) {
	c, err := e.Client(ip)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	list, err := c.MemberList(ctx)
	if err != nil {
		return nil, err
	}
	status, err := c.Status(ctx, c.Endpoints()[0])
	if err != nil {
		return nil, err
	}
	var out []Member
	for _, m := range list.Members {
		out = append(out, Member{
			ID: m.ID, Name: m.Name, Node: nodeOf(m.Name), Address: peerIP(m), Learner: m.IsLearner, Leader: m.ID == status.Leader,
		})
	}
	return out, nil
}

// nodeOf cuts the suffix that RKE2 appends to the node's name (rke2: <node>-<8 hex digits>).
func nodeOf(member string) string {
	if i := strings.LastIndex(member, "-"); i > 0 {
		return member[:i]
	}
	return member
}

func peerIP(m *pb.Member) string {
	for _, p := range m.PeerURLs {
		if u, err := url.Parse(p); err == nil {
			return u.Hostname()
		}
	}
	return ""
}

// FollowMembers polls the member list until ctx ends and notes what changed.
func FollowMembers(ctx context.Context, e *Etcd, addresses func() []string, log *timeline.Log) *Membership {
	m := &Membership{log: log, known: map[uint64]Member{}}
	go m.run(ctx, e, addresses)
	return m
}

// Membership is the last known member list.
type Membership struct {
	log *timeline.Log

	mu      sync.Mutex
	members []Member
	at      time.Time
	leader  uint64
	known   map[uint64]Member
}

// Known returns a member, present or past, that was listed with a name.
func (m *Membership) Known(id uint64) (Member, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	member, ok := m.known[id]
	return member, ok
}

// Current returns the last list and when it was read.
func (m *Membership) Current() ([]Member, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.members), m.at
}

func (m *Membership) run(ctx context.Context, e *Etcd, addresses func() []string) {
	every(ctx, memberPeriod, func() {
		asked := time.Now()
		list, err := e.Members(ctx, preferLeader(addresses(), m.leaderAddress()))
		if err == nil {
			m.take(list, asked)
		}
	})
}

func (m *Membership) leaderAddress() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, member := range m.members {
		if member.Leader {
			return member.Address
		}
	}
	return ""
}

func preferLeader(addresses []string, leader string) []string {
	if i := slices.Index(addresses, leader); i > 0 {
		addresses = slices.Clone(addresses)
		addresses[0], addresses[i] = addresses[i], addresses[0]
	}
	return addresses
}

// take compares a fresh list, asked for at that moment, with the last one.
func (m *Membership) take(list []Member, asked time.Time) {
	m.mu.Lock()
	before, since := m.members, m.at
	oldLeader := m.leader
	m.members, m.at = list, asked
	for _, member := range list {
		if member.Leader {
			m.leader = member.ID
		}
		if member.Name != "" {
			m.known[member.ID] = member
		}
	}
	m.mu.Unlock()
	for _, e := range memberEvents(before, list, oldLeader) {
		e.Since = since
		m.log.Append(e)
	}
}

// memberEvents tells what changed between two lists.
func memberEvents(before, now []Member, oldLeader uint64) []timeline.Event {
	var out []timeline.Event
	for _, m := range now {
		i := slices.IndexFunc(before, func(b Member) bool { return b.ID == m.ID })
		if m.Name == "" {
			continue // added and not started yet: it has no name to show; it counts once it has one
		}
		e := timeline.Event{Node: m.Node, Object: m.Name}
		switch {
		case i < 0 || before[i].Name == "":
			e.Kind, e.Detail = timeline.MemberAdded, "voter"
			if m.Learner {
				e.Detail = "learner"
			}
			out = append(out, e)
		case before[i].Learner && !m.Learner:
			e.Kind = timeline.MemberVoter
			out = append(out, e)
		}
		if m.Leader && m.ID != oldLeader {
			out = append(out, timeline.Event{Kind: timeline.LeaderChanged, Node: m.Node, Object: m.Name})
		}
	}
	for _, b := range before {
		if b.Name != "" && !slices.ContainsFunc(now, func(m Member) bool { return m.ID == b.ID }) {
			out = append(out, timeline.Event{Kind: timeline.MemberGone, Node: b.Node, Object: b.Name})
		}
	}
	return out
}
