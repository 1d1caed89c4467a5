// Package member is the part of RKE2 that cares for etcd's membership: joining
// as a learner, promotion by the leader, and removal.
package member

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/drover-project/drover/lab/internal/standin/pki"
)

// callTimeout bounds each call to etcd.
const callTimeout = 5 * time.Second

// Local is the endpoint of the server's own member.
const Local = "https://127.0.0.1:2379"

// Name gives the name of a server's member and keeps it beside the data:
// <node>-<8 hex digits>, as RKE2 makes it.
func Name(dataDir, node string) (string, error) {
	file := filepath.Join(dataDir, "name")
	if data, err := os.ReadFile(file); err == nil {
		return strings.TrimSpace(string(data)), nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	suffix := make([]byte, 4)
	_, _ = rand.Read(suffix)
	name := node + "-" + hex.EncodeToString(suffix)
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return "", err
	}
	return name, os.WriteFile(file, []byte(name), 0o600)
}

// HasData tells whether the data folder belongs to a member that has started.
// Then neither a join nor a new cluster is wanted, whatever `server` says.
func HasData(dataDir string) bool {
	_, err := os.Stat(filepath.Join(dataDir, "member"))
	return err == nil
}

// Dial opens a client for the endpoints with the server's own certificate.
func Dial(store pki.Store, endpoints ...string) (*clientv3.Client, error) {
	info := transport.TLSInfo{
		CertFile: store.Path("etcd/client.crt"), KeyFile: store.Path("etcd/client.key"),
		TrustedCAFile: store.Path(pki.EtcdServerCA + ".crt"),
	}
	cfg, err := info.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("etcd client certificate: %w", err)
	}
	cfg.MinVersion = tls.VersionTLS12
	return clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: callTimeout, DialKeepAliveTime: 10 * time.Second, TLS: cfg, Logger: zap.NewNop(),
	})
}

// List gives etcd's members.
func List(ctx context.Context, c *clientv3.Client) ([]*etcdserverpb.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := c.MemberList(ctx)
	if err != nil {
		return nil, fmt.Errorf("list etcd members: %w", err)
	}
	return answer.Members, nil
}

// ErrDuplicate means that another member belongs to a node of the same name.
var ErrDuplicate = errors.New("duplicate node name found, please use a unique name for this node")

// duplicate finds a member of the same node that has another suffix, as RKE2
// does before it joins.
func duplicate(members []*etcdserverpb.Member, name string) bool {
	return slices.ContainsFunc(members, func(m *etcdserverpb.Member) bool {
		return m.Name != name && m.Name != "" && nodeOf(m.Name) == nodeOf(name)
	})
}

// nodeOf cuts the suffix off: node names contain hyphens themselves.
func nodeOf(name string) string {
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		return name[:i]
	}
	return name
}

// AddLearner announces the member that is about to join. A member that was
// announced before for the same peer address is taken up again. It fails with
// ErrDuplicate when the node has a member of another name.
func AddLearner(ctx context.Context, c *clientv3.Client, name, peerURL string) ([]*etcdserverpb.Member, error) {
	members, err := List(ctx, c)
	if err != nil {
		return nil, err
	}
	if duplicate(members, name) {
		return nil, ErrDuplicate
	}
	if slices.ContainsFunc(members, func(m *etcdserverpb.Member) bool { return slices.Contains(m.PeerURLs, peerURL) }) {
		return members, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := c.MemberAddAsLearner(ctx, []string{peerURL})
	if err != nil {
		return nil, fmt.Errorf("add etcd learner: %w", err)
	}
	return answer.Members, nil
}

// Votes tells whether the client's only endpoint is a voter that knows a
// leader. A member that joins can take 15 s to answer at all: etcd serves nobody
// before it has announced its name through the leader, and when a snapshot
// arrives just then the announcement is lost and repeated only after 5 s and
// two election time-outs.
func Votes(ctx context.Context, c *clientv3.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	status, err := c.Status(ctx, c.Endpoints()[0])
	return err == nil && !status.IsLearner && status.Leader != 0
}

// Leads tells whether the client's only endpoint is the leader.
func Leads(ctx context.Context, c *clientv3.Client) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	status, err := c.Status(ctx, c.Endpoints()[0])
	if err != nil {
		return false, err
	}
	return status.Leader == status.Header.MemberId, nil
}

// Answers tells whether a member itself answers.
func Answers(ctx context.Context, c *clientv3.Client, m *etcdserverpb.Member) bool {
	if len(m.ClientURLs) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := c.Status(ctx, m.ClientURLs[0])
	return err == nil
}

// Remove takes out the member that has the name and the peer address of a
// node, as RKE2 does. It tells whether there was one.
func Remove(ctx context.Context, c *clientv3.Client, name, address string) (bool, error) {
	members, err := List(ctx, c)
	if err != nil {
		return false, err
	}
	for _, m := range members {
		if m.Name != name || !hasHost(m.PeerURLs, address) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		_, err := c.MemberRemove(ctx, m.ID)
		if errors.Is(err, rpctypes.ErrMemberNotFound) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("remove etcd member %s: %w", name, err)
		}
		return true, nil
	}
	return false, nil
}

func hasHost(peerURLs []string, address string) bool {
	return slices.ContainsFunc(peerURLs, func(p string) bool {
		u, err := url.Parse(p)
		return err == nil && u.Hostname() == address
	})
}
