// Package connect opens the ways into a workload cluster for one reconcile:
// its API server and its etcd members.
package connect

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/model"
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
	// Routes, when there are any, replace the ways to etcd. For tests.
	Routes []etcd.Route
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
	return s.connector.Members.Cluster(string(s.scope.Cluster.UID), authority, s.routes()...)
}

// routes are the ways to a member, the one that is open in most networks first.
func (s *Session) routes() []etcd.Route {
	if len(s.connector.Routes) > 0 {
		return s.connector.Routes
	}
	return []etcd.Route{{Path: model.PortForward, Dial: s.portForward}, {Path: model.ClientPort, Dial: s.clientPort}}
}

// portForward goes through the static pod, whose name the kubelet makes of the
// manifest's name and the node's.
func (s *Session) portForward(ctx context.Context, node string) (net.Conn, error) {
	return s.Workload.DialPod(ctx, workload.SystemNamespace, "etcd-"+node, etcd.Port)
}

// clientPort goes straight to the addresses of the node's Machine, one after
// the other. RKE2's etcd listens for clients on the node's own address, too.
func (s *Session) clientPort(ctx context.Context, node string) (net.Conn, error) {
	var problems []error
	for _, address := range s.scope.AddressesOf(node) {
		conn, err := (&net.Dialer{Timeout: clientPortTimeout}).DialContext(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(etcd.Port)))
		if err == nil {
			return conn, nil
		}
		problems = append(problems, err)
	}
	if len(problems) == 0 {
		return nil, etcd.ErrNoRoute
	}
	return nil, errors.Join(problems...)
}

// clientPortTimeout bounds the look at one address. Most management clusters
// have no way to the nodes, and nobody answers.
const clientPortTimeout = time.Second
