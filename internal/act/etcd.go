package act

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/collections"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/membership"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

// liveEtcd is the membership read for one action, with the Machines and Nodes
// it was matched with.
type liveEtcd struct {
	session  *connect.Session
	access   *etcd.Cluster
	machines collections.Machines
	nodes    map[string]*corev1.Node
	members  []model.Member
	homes    map[uint64]string
}

// readEtcd reads the membership and everything it is matched with anew. It
// refuses when etcd can't be asked.
func (a *Actor) readEtcd(ctx context.Context, s *scope.Scope) (*liveEtcd, error) {
	session, err := a.open(ctx, s)
	if err != nil {
		return nil, err
	}
	live := &liveEtcd{session: session}
	if live.machines, err = a.liveMachines(ctx, s); err != nil {
		return nil, err
	}
	if live.nodes, err = session.Workload.Nodes(ctx, scope.NodeNames(live.machines)); err != nil {
		return nil, refuse("the Nodes can't be read: %v", err)
	}
	if live.access, err = session.Etcd(ctx); err != nil {
		return nil, err
	}
	read := membership.Read(ctx, live.access, membership.Servers(live.machines, live.nodes), a.Now)
	if !read.Members.Known {
		return nil, refuse("%s", read.Members.Reason)
	}
	live.members, live.homes = read.Members.Value, read.Node
	return live, nil
}

func (l *liveEtcd) memberOf(machine string) (model.Member, bool) {
	for _, m := range l.members {
		if m.Machine == machine {
			return m, true
		}
	}
	return model.Member{}, false
}

// strange is a member of which no Machine is known.
func (l *liveEtcd) strange() (model.Member, bool) { return l.memberOf("") }

func (l *liveEtcd) byID(id uint64) (model.Member, bool) {
	for _, m := range l.members {
		if m.ID == id {
			return m, true
		}
	}
	return model.Member{}, false
}

// member returns a member that must still be listed and belong to the
// Machine.
func (l *liveEtcd) member(id uint64, machine string) (model.Member, error) {
	m, listed := l.byID(id)
	switch {
	case !listed:
		return m, refuse("etcd member %x is not listed any more", id)
	case m.Machine != machine:
		return m, refuse("etcd member %s belongs to Machine %q, not %q", m.Label(), m.Machine, machine)
	}
	return m, nil
}

// onlyRemoval refuses while RKE2 has been asked to remove another member and
// has not done so: that one may stop at any moment, and counts until it is off
// the list.
func (l *liveEtcd) onlyRemoval(id uint64) error {
	for _, m := range l.members {
		if m.ID == id || m.Machine == "" {
			continue
		}
		node := l.nodes[l.homes[m.ID]]
		if node == nil {
			continue
		}
		if asked, _ := workload.RemovalAsked(node); asked {
			return refuse("RKE2 is removing etcd member %s, and one member is removed at a time", m.Label())
		}
	}
	return nil
}

// voterBeside returns the node of a healthy voter other than the victim, the
// leader if possible.
func (l *liveEtcd) voterBeside(victim uint64) (string, error) {
	best := ""
	for _, m := range quorum.HealthyVoters(l.members) {
		home := l.homes[m.ID]
		if m.ID == victim || home == "" {
			continue
		}
		if best == "" || m.Leader {
			best = home
		}
	}
	if best == "" {
		return "", refuse("no other healthy voter can be asked to remove the member")
	}
	return best, nil
}

// moveLeader hands the leadership over and confirms it by asking the new
// leader.
func (a *Actor) moveLeader(ctx context.Context, s *scope.Scope, act model.MoveLeader) error {
	live, err := a.readEtcd(ctx, s)
	if err != nil {
		return err
	}
	from, listed := live.byID(act.From)
	if !listed || !from.Leader {
		return refuse("%s is not the leader any more", act.FromName)
	}
	to, listed := live.byID(act.To)
	if !listed || !to.HealthyVoter() {
		return refuse("%s is not a healthy voter any more", act.ToName)
	}
	err = live.access.MoveLeader(ctx, live.homes[act.From], act.To)
	switch {
	case errors.Is(err, etcd.ErrNotLeader), errors.Is(err, etcd.ErrBadTransferee):
		return refuse("%v", err)
	case err != nil && !errors.Is(err, etcd.ErrUnclear):
		return err
	}
	status, err := live.access.Status(ctx, live.homes[act.To])
	if err != nil {
		return fmt.Errorf("confirm that %s leads: %w", to.Label(), err)
	}
	if status.Leader != act.To {
		return refuse("the leadership has not gone to %s", to.Label())
	}
	return nil
}
