package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/scope"
)

func TestPendingVersion(t *testing.T) {
	const old, next, final = "v1.34.1+rke2r1", "v1.35.2+rke2r1", "v1.36.3+rke2r1"
	for name, c := range map[string]struct {
		topology, step, version, want string
	}{
		"no topology":                   {"", "", old, ""},
		"reached":                       {old, "", old, ""},
		"not our turn yet":              {final, "", old, final},
		"the next step of several":      {final, next, old, next},
		"the step is reached":           {final, next, next, ""},
		"between two steps":             {final, "", next, final},
		"the last one, step still said": {final, final, final, ""},
	} {
		s := &scope.Scope{Cluster: &clusterv1.Cluster{}, ControlPlane: &controlplanev1.RKE2ControlPlane{}}
		s.ControlPlane.Spec.Version = c.version
		if c.topology != "" {
			s.Cluster.Spec.Topology = clusterv1.Topology{ClassRef: clusterv1.ClusterClassRef{Name: "rke2"}, Version: c.topology}
		}
		if c.step != "" {
			s.Cluster.Annotations = map[string]string{clusterv1.ClusterTopologyUpgradeStepAnnotation: c.step}
		}
		if got := pendingVersion(s); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRolloutHeld(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"not held":         {nil, ""},
		"with a reason":    {map[string]string{controlplanev1.HoldRolloutAnnotation: "freeze"}, "freeze"},
		"without a reason": {map[string]string{controlplanev1.HoldRolloutAnnotation: ""}, "no reason is given"},
	} {
		cp := &controlplanev1.RKE2ControlPlane{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}}
		if got := rolloutHeld(cp); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestNetworkOptional(t *testing.T) {
	made := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	node := func(status corev1.ConditionStatus, since time.Duration) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(made)}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(made.Add(since))}}
		return n
	}
	never, ready, lost := node(corev1.ConditionFalse, 0), node(corev1.ConditionTrue, time.Minute), node(corev1.ConditionFalse, time.Hour)
	silent := node(corev1.ConditionUnknown, time.Hour)
	for name, c := range map[string]struct {
		cni   controlplanev1.CNI
		nodes []*corev1.Node
		blind bool
		want  bool
	}{
		"RKE2 brings one":             {"", []*corev1.Node{never}, false, false},
		"the user's, not there yet":   {controlplanev1.None, []*corev1.Node{never, never}, false, true},
		"the user's":                  {controlplanev1.None, []*corev1.Node{never, ready}, false, false},
		"the user's, lost":            {controlplanev1.None, []*corev1.Node{never, lost}, false, false},
		"one kubelet does not report": {controlplanev1.None, []*corev1.Node{never, silent}, false, true},
		"nothing can be seen":         {controlplanev1.None, nil, true, false},
	} {
		s := &scope.Scope{ControlPlane: &controlplanev1.RKE2ControlPlane{}}
		s.ControlPlane.Spec.ServerConfig.CNI = c.cni
		w := workloadView{nodes: map[string]*corev1.Node{}}
		if c.blind {
			w.problem = "no connection"
		}
		for i, n := range c.nodes {
			w.nodes[string(rune('a'+i))] = n
		}
		if got := networkOptional(s, w); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
