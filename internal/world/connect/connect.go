// Package connect opens the ways into a workload cluster for one reconcile:
// its API server and its etcd members.
package connect

import (
	"context"
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/scope"
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
	key := client.ObjectKey{Namespace: s.scope.Cluster.Namespace, Name: secret.Name(s.scope.Cluster.Name, secret.EtcdCA)}
	found := &corev1.Secret{}
	if err := s.connector.Secrets.Get(ctx, key, found); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("secret %s does not exist; it holds the etcd authority of the cluster", key)
		}
		return nil, fmt.Errorf("read Secret %s: %w", key, err)
	}
	authority := etcd.Authority{Certificate: found.Data[secret.TLSCrtDataName], Key: found.Data[secret.TLSKeyDataName]}
	members, err := s.connector.Members.Cluster(string(s.scope.Cluster.UID), authority, s.dialer())
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", key, err)
	}
	return members, nil
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
