package observe

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/scope"
)

// rolloutHeld is the reason the user gives for holding rollouts, empty when
// they are not held. Who holds them without a reason still holds them.
func rolloutHeld(cp *controlplanev1.RKE2ControlPlane) string {
	reason, held := cp.Annotations[controlplanev1.HoldRolloutAnnotation]
	if held && strings.TrimSpace(reason) == "" {
		return "no reason is given"
	}
	return reason
}

// pendingVersion is the version the Cluster's topology is about to ask for. In
// an upgrade over several versions the annotation holds the one whose turn it
// is, and that one may be reached.
func pendingVersion(s *scope.Scope) string {
	if !s.Cluster.Spec.Topology.IsDefined() {
		return ""
	}
	now, step := s.ControlPlane.Spec.Version, s.Cluster.Annotations[clusterv1.ClusterTopologyUpgradeStepAnnotation]
	switch final := s.Cluster.Spec.Topology.Version; {
	case now == final, now == step:
		return ""
	case step != "":
		return step
	default:
		return final
	}
}

// networkOptional tells whether no network plugin is to be expected: RKE2 is
// told to bring none, and there are signs of none. A Node that has been Ready
// once had a network; its Ready condition then changed after the Node was made.
func networkOptional(s *scope.Scope, w workloadView) bool {
	if s.ControlPlane.Spec.ServerConfig.CNI != controlplanev1.None || w.problem != "" {
		return false
	}
	for _, node := range w.nodes {
		c := readyCondition(node)
		if c == nil || c.Status == corev1.ConditionUnknown {
			continue
		}
		if c.Status == corev1.ConditionTrue || c.LastTransitionTime.Sub(node.CreationTimestamp.Time) > firstReport {
			return false
		}
	}
	return true
}

// firstReport is how long after a Node is made its kubelet has reported its
// conditions for the first time.
const firstReport = 10 * time.Second
