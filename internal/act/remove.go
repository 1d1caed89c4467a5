package act

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/scope"
)

// removeMember removes a member through another voter, after checking again
// the ground on which it was decided, and that the others keep quorum.
func (a *Actor) removeMember(ctx context.Context, s *scope.Scope, snap model.Snapshot, act model.RemoveMember) error {
	if act.Ground == model.Drained {
		if _, err := a.drainedMachine(ctx, s, snap, act.Machine); err != nil {
			return err
		}
	}
	live, err := a.readEtcd(ctx, s)
	if err != nil {
		return err
	}
	member, listed := live.byID(act.Member)
	if !listed {
		return nil
	}
	if member.Machine != act.Machine {
		return refuse("etcd member %s belongs to Machine %q, not %q", member.Label(), member.Machine, act.Machine)
	}
	if err := a.groundHolds(ctx, act, live, member); err != nil {
		return err
	}
	if err := live.onlyRemoval(act.Member); err != nil {
		return err
	}
	if v := quorum.AfterRemoval(live.members, act.Member); !v.OK {
		return refuse("etcd member %s can't go: %s", member.Label(), v.Why)
	}
	voter, err := live.voterBeside(act.Member)
	if err != nil {
		return err
	}
	return removeAndConfirm(ctx, live.access, voter, member)
}

// groundHolds checks what makes the removal right, beyond what drainedMachine
// has checked.
func (a *Actor) groundHolds(ctx context.Context, act model.RemoveMember, live *liveEtcd, member model.Member) error {
	answers := member.Answers.Known && member.Answers.Value
	switch act.Ground {
	case model.Drained:
		if member.Leader && member.Healthy() {
			return refuse("etcd member %s has become the leader", member.Label())
		}
		return nil
	case model.HostDead:
		if answers {
			return refuse("etcd member %s answers, its host is not dead", member.Label())
		}
		m, ok := live.machines[act.Machine]
		if !ok {
			return refuse("Machine %s is gone", act.Machine)
		}
		return a.hostIsDead(ctx, m, live.nodes[m.Status.NodeRef.Name])
	case model.NoMachine:
		if answers {
			return refuse("etcd member %s answers, somebody runs it", member.Label())
		}
		if member.Leader {
			return refuse("etcd member %s leads, somebody runs it", member.Label())
		}
		if node := live.nodes[live.homes[member.ID]]; node != nil && ready(node) {
			return refuse("Node %s, on which etcd member %s runs, is Ready", node.Name, member.Label())
		}
		return nil
	default:
		return fmt.Errorf("remove member %s: ground %q is not known", member.Label(), act.Ground)
	}
}

// hostIsDead refuses unless the host's end is proven: its infrastructure
// machine does not exist any more, or its Machine is being deleted and its
// Node is gone or has not been Ready for a while.
func (a *Actor) hostIsDead(ctx context.Context, m *clusterv1.Machine, node *corev1.Node) error {
	infra := scope.ReadInfrastructure(ctx, a.Client, a.Live, m)
	if infra.Missing {
		return nil
	}
	if m.DeletionTimestamp.IsZero() {
		return refuse("the %s of Machine %s exists", infra.Ref.Kind, m.Name)
	}
	if !m.Status.NodeRef.IsDefined() {
		return refuse("no Node is known for Machine %s, so it can't be told that its host is dead", m.Name)
	}
	if node == nil {
		return nil
	}
	if ready(node) {
		return refuse("Node %s is Ready", node.Name)
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && a.Now().Sub(c.LastTransitionTime.Time) < model.DeadAfter {
			return refuse("Node %s has not been Ready for less than %s", node.Name, model.DeadAfter)
		}
	}
	return nil
}

func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// removeAndConfirm removes a member and looks at the list afterwards, which
// alone tells whether it is gone: a time-out may come after the removal.
func removeAndConfirm(ctx context.Context, access *etcd.Cluster, voter string, member model.Member) error {
	removeErr := access.Remove(ctx, voter, member.ID)
	switch {
	case errors.Is(removeErr, etcd.ErrUnhealthy), errors.Is(removeErr, etcd.ErrNotEnoughStarted):
		return refuse("remove member %s: %v", member.Label(), removeErr)
	case removeErr != nil && !errors.Is(removeErr, etcd.ErrUnclear):
		return fmt.Errorf("remove member %s: %w", member.Label(), removeErr)
	}
	members, err := access.Members(ctx, voter)
	if err != nil {
		return fmt.Errorf("confirm the removal of member %s: %w", member.Label(), errors.Join(removeErr, err))
	}
	for _, m := range members {
		if m.ID == member.ID {
			return fmt.Errorf("remove member %s: it is still listed: %w", member.Label(), errors.Join(removeErr, etcd.ErrUnclear))
		}
	}
	return nil
}
