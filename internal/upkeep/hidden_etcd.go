package upkeep

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// Authorities asks the servers of a cluster for what its etcd trusts.
type Authorities interface {
	// EtcdAuthorities gives the authorities of etcd's clients and of its members
	// among themselves. It is bounded by a deadline of its own.
	EtcdAuthorities(ctx context.Context, s *scope.Scope) (clients, peers secrets.CAPair, err error)
}

// openRetry is when servers that did not give the authorities are asked again.
const openRetry = 5 * time.Minute

// openEtcd keeps the authorities of an etcd that can't be asked in the Secrets
// in which every other cluster has them. The servers give them to whoever has
// the token that servers join with. From then on etcd is asked, and its members
// are cared for, like those of any cluster.
func (u *Upkeep) openEtcd(ctx context.Context, s *scope.Scope) error {
	now := u.Now()
	if u.Authorities == nil || !s.HiddenEtcd || len(s.NodeNames()) == 0 || !u.opened.due(s.Cluster.UID, now) {
		return nil
	}
	clients, peers, err := u.Authorities.EtcdAuthorities(ctx, s)
	if err != nil {
		u.opened.set(s.Cluster.UID, now, now.Add(openRetry))
		return fmt.Errorf("etcd's members are left to RKE2 until its authorities are known: %w", err)
	}
	// That of the clients is what tells that etcd can be asked, and comes last.
	owner := desired.Controller(s.ControlPlane)
	if err := secrets.KeepCA(ctx, u.Client, s.ClusterKey(), secrets.EtcdPeerCA, peers, owner); err != nil {
		return err
	}
	if err := secrets.KeepCA(ctx, u.Client, s.ClusterKey(), secrets.EtcdCA, clients, owner); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("The servers gave the authorities of their etcd: its members are asked from now on")
	return nil
}
