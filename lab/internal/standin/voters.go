package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/drover-project/drover/lab/internal/standin/member"
)

// conditionVoter is RKE2's condition of a server's Node.
const conditionVoter corev1.NodeConditionType = "EtcdIsVoter"

const (
	// voterEvery is how often the leader's node looks, voterHeartbeat how often
	// it writes a condition that has not changed. Both are RKE2's.
	voterEvery     = 15 * time.Second
	voterHeartbeat = 5 * time.Minute
)

// reportVoters keeps the condition EtcdIsVoter of all servers' Nodes while the
// local member leads.
func (s *server) reportVoters(ctx context.Context) {
	tick := time.NewTicker(voterEvery)
	defer tick.Stop()
	for {
		if err := s.reportVotersOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Info("voters are not reported", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *server) reportVotersOnce(ctx context.Context) error {
	if leads, err := member.Leads(ctx, s.etcd); err != nil || !leads {
		return err
	}
	members, err := member.List(ctx, s.etcd)
	if err != nil {
		return err
	}
	nodes, err := s.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: labelEtcd})
	if err != nil {
		return fmt.Errorf("list Nodes: %w", err)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		wanted := voterCondition(node, members, func(m *etcdserverpb.Member) bool { return member.Answers(ctx, s.etcd, m) })
		if !voterDue(node, wanted, time.Now()) {
			continue
		}
		if err := s.patchCondition(ctx, node, wanted); err != nil {
			return fmt.Errorf("condition %s of Node %s: %w", conditionVoter, node.Name, err)
		}
	}
	return nil
}

// voterCondition is what RKE2 says of a Node's member.
func voterCondition(node *corev1.Node, members []*etcdserverpb.Member, answers func(*etcdserverpb.Member) bool) corev1.NodeCondition {
	c := corev1.NodeCondition{
		Type: conditionVoter, Status: corev1.ConditionFalse,
		Reason: "NotAMember", Message: "Node is not a member of the etcd cluster",
	}
	for _, m := range members {
		switch {
		case m.Name == "" || m.Name != node.Annotations[annotationName]:
			continue
		case !answers(m):
			c.Reason, c.Message = "Unhealthy", "Node's member of the etcd cluster does not answer"
		case m.IsLearner:
			c.Reason, c.Message = "MemberIsLearner", "Node has not been promoted to voting member of the etcd cluster"
		default:
			c.Status, c.Reason, c.Message = corev1.ConditionTrue, "MemberNotLearner", "Node is a voting member of the etcd cluster"
		}
	}
	return c
}

// voterDue tells whether the condition has to be written.
func voterDue(node *corev1.Node, wanted corev1.NodeCondition, now time.Time) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == wanted.Type {
			return c.Status != wanted.Status || c.Reason != wanted.Reason || now.Sub(c.LastHeartbeatTime.Time) >= voterHeartbeat
		}
	}
	return true
}

func (s *server) patchCondition(ctx context.Context, node *corev1.Node, wanted corev1.NodeCondition) error {
	wanted.LastHeartbeatTime = metav1.Now()
	wanted.LastTransitionTime = wanted.LastHeartbeatTime
	for _, c := range node.Status.Conditions {
		if c.Type == wanted.Type && c.Status == wanted.Status {
			wanted.LastTransitionTime = c.LastTransitionTime
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{wanted}}})
	if err != nil {
		return err
	}
	// Conditions merge by their type; the kubelet's stay as they are.
	_, err = s.kube.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
