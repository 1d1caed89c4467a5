package standin

import (
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestVoterCondition(t *testing.T) {
	members := []*etcdserverpb.Member{{Name: "s1-1"}, {Name: "s2-2", IsLearner: true}, {Name: "s3-3"}, {Name: ""}}
	answers := func(m *etcdserverpb.Member) bool { return m.Name != "s3-3" }
	for name, want := range map[string]string{
		"s1-1": "True MemberNotLearner", "s2-2": "False MemberIsLearner", "s3-3": "False Unhealthy", "s1": "False NotAMember", "": "False NotAMember",
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationName: name}}}
		got := voterCondition(node, members, answers)
		if text := string(got.Status) + " " + got.Reason; text != want {
			t.Errorf("%q: got %s, want %s", name, text, want)
		}
	}
}

func TestVoterDue(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	wanted := corev1.NodeCondition{Type: conditionVoter, Status: corev1.ConditionTrue, Reason: "MemberNotLearner"}
	with := func(change func(*corev1.NodeCondition)) *corev1.Node {
		c := wanted
		c.LastHeartbeatTime = metav1.NewTime(now.Add(-time.Minute))
		change(&c)
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{c}}}
	}
	for _, test := range []struct {
		name string
		node *corev1.Node
		want bool
	}{
		{"never written", &corev1.Node{}, true},
		{"unchanged", with(func(*corev1.NodeCondition) {}), false},
		{"other reason", with(func(c *corev1.NodeCondition) { c.Reason = "MemberIsLearner" }), true},
		{"heartbeat", with(func(c *corev1.NodeCondition) { c.LastHeartbeatTime = metav1.NewTime(now.Add(-voterHeartbeat)) }), true},
	} {
		if got := voterDue(test.node, wanted, now); got != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
}

func TestParseTaints(t *testing.T) {
	got, err := parseTaints([]string{"a=b:NoSchedule", "c:NoExecute"})
	if err != nil || len(got) != 2 || got[0] != (corev1.Taint{Key: "a", Value: "b", Effect: "NoSchedule"}) || got[1] != (corev1.Taint{Key: "c", Effect: "NoExecute"}) {
		t.Errorf("got %+v %v", got, err)
	}
	if _, err := parseTaints([]string{"a=b"}); err == nil {
		t.Error("a taint without effect passes")
	}
}
