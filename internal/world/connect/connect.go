// Package connect opens the ways into a workload cluster for one reconcile:
// its API server and its etcd members.
package connect

import (
	"context"
	"net"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
	"github.com/drover-project/drover/internal/world/workload"
)

// Connector opens Sessions. It is safe for concurrent use.
type Connector struct {
	// Secrets reads Secrets of the management cluster.
	Secrets client.Reader
	// Clusters reaches workload API servers.
	Clusters *workload.Clusters
	// Members keeps the connections to etcd members.
	Members *etcd.Pool
	// Dial, when set, replaces the port-forward to etcd. For tests.
	Dial etcd.Dialer
}

// Session is the access to one workload cluster during one reconcile.
type Session struct {
	Workload *workload.Cluster

	connector *Connector
	scope     *scope.Scope
}

// Open returns a Session. The error wraps workload.ErrNotConnected when the
// workload cluster can't be reached.
func (c *Connector) Open(ctx context.Context, s *scope.Scope) (*Session, error) {
	w, err := c.Clusters.Connect(ctx, s.ClusterKey())
	if err != nil {
		return nil, err
	}
	return &Session{Workload: w, connector: c, scope: s}, nil
}

// Etcd returns the access to the members.
func (s *Session) Etcd(ctx context.Context) (*etcd.Cluster, error) {
	ca, err := secrets.LookupCA(ctx, s.connector.Secrets, s.scope.ClusterKey(), secrets.EtcdCA)
	if err != nil {
		return nil, err
	}
	authority := etcd.Authority{Certificate: ca.Cert, Key: ca.Key}
	return s.connector.Members.Cluster(string(s.scope.Cluster.UID), authority, s.dialer())
}

// dialer goes through the static pod, whose name the kubelet makes of the
// manifest's name and the node's.
func (s *Session) dialer() etcd.Dialer {
	if s.connector.Dial != nil {
		return s.connector.Dial
	}
	return func(ctx context.Context, node string) (net.Conn, error) {
		return s.Workload.DialPod(ctx, workload.SystemNamespace, "etcd-"+node, etcd.Port)
	}
}
