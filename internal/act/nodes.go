package act

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

// excludeFromLoadBalancers labels the Node and notes the time, in one patch.
func (a *Actor) excludeFromLoadBalancers(ctx context.Context, s *scope.Scope, snap model.Snapshot, act model.ExcludeFromLoadBalancers) error {
	m, err := a.liveMachine(ctx, s, snap, act.Machine)
	if err != nil {
		return err
	}
	if m.DeletionTimestamp.IsZero() {
		return refuse("Machine %s is not being deleted", m.Name)
	}
	session, err := a.open(ctx, s)
	if err != nil {
		return err
	}
	return a.patchNode(ctx, session, m.Status.NodeRef.Name, func(node *corev1.Node) {
		if _, done := node.Labels[corev1.LabelNodeExcludeBalancers]; done {
			return
		}
		setLabel(node, corev1.LabelNodeExcludeBalancers, "true")
		setAnnotation(node, workload.ExcludedAtAnnotation, a.timestamp())
	})
}

// askForMemberRemoval sets RKE2's annotation and notes the time, in one
// patch. RKE2 removes the member and stops its static pods at the same time,
// so the others must keep quorum whichever comes first.
func (a *Actor) askForMemberRemoval(ctx context.Context, s *scope.Scope, snap model.Snapshot, act model.AskForMemberRemoval) error {
	m, err := a.drainedMachine(ctx, s, snap, act.Machine)
	if err != nil {
		return err
	}
	live, err := a.readEtcd(ctx, s)
	if err != nil {
		return err
	}
	member, err := live.member(act.Member, act.Machine)
	if err != nil {
		return err
	}
	if member.Leader {
		return refuse("etcd member %s has become the leader", member.Label())
	}
	if err := live.onlyRemoval(act.Member); err != nil {
		return err
	}
	if v := quorum.AfterRemoval(live.members, act.Member); !v.OK {
		return refuse("etcd member %s can't go: %s", member.Label(), v.Why)
	}
	if v := quorum.AfterLoss(live.members, act.Member); !v.OK {
		return refuse("etcd member %s must not stop before it is removed: %s", member.Label(), v.Why)
	}
	return a.patchNode(ctx, live.session, m.Status.NodeRef.Name, func(node *corev1.Node) {
		if node.Annotations[controlplanev1.EtcdRemoveAnnotation] == "true" {
			return
		}
		setAnnotation(node, controlplanev1.EtcdRemoveAnnotation, "true")
		setAnnotation(node, workload.RemovalAskedAtAnnotation, a.timestamp())
	})
}

func (a *Actor) patchNode(ctx context.Context, session *connect.Session, name string, change func(*corev1.Node)) error {
	if name == "" {
		return refuse("no Node is known for the Machine")
	}
	node, err := session.Workload.Node(ctx, name)
	if err != nil {
		return err
	}
	if node == nil {
		return refuse("Node %s does not exist", name)
	}
	err = session.Workload.PatchNode(ctx, node, change)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return refuse("Node %s has changed since it was read", name)
	}
	return err
}

// open turns a lost connection into a refusal: what can't be confirmed is not
// done.
func (a *Actor) open(ctx context.Context, s *scope.Scope) (*connect.Session, error) {
	session, err := a.Connector.Open(ctx, s)
	if errors.Is(err, workload.ErrNotConnected) {
		return nil, refuse("%v", err)
	}
	return session, err
}

func (a *Actor) timestamp() string { return a.Now().UTC().Format(time.RFC3339) }

func setLabel(node *corev1.Node, key, value string) {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[key] = value
}

func setAnnotation(node *corev1.Node, key, value string) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[key] = value
}
