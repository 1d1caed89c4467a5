package probe

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }

func TestAnswersFindTheLongestGap(t *testing.T) {
	a := &Answers{}
	a.Start(at(0))
	for _, tc := range []struct {
		at   int
		show bool
	}{{200, false}, {400, false}, {1300, false}, {2300, true}, {2500, false}} {
		if _, show := a.Got(at(tc.at)); show != tc.show {
			t.Errorf("at %d: show %v", tc.at, show)
		}
	}
	a.Failed(errors.New("no route"))
	want := Figures{Longest: time.Second, Answered: 5, Failed: 1, LastError: "no route"}
	if got := a.Figures(at(2600)); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := a.Figures(at(9500)); got.Longest != 7*time.Second {
		t.Errorf("a silence that lasts counts: %s", got.Longest)
	}
}

func TestRemoveCounts(t *testing.T) {
	text := `# HELP grpc_server_handled_total Total
grpc_server_handled_total{grpc_code="OK",grpc_method="MemberList",grpc_service="etcdserverpb.Cluster",grpc_type="unary"} 40
grpc_server_handled_total{grpc_code="OK",grpc_method="MemberRemove",grpc_service="etcdserverpb.Cluster",grpc_type="unary"} 2
grpc_server_handled_total{grpc_code="NotFound",grpc_method="MemberRemove",grpc_service="etcdserverpb.Cluster",grpc_type="unary"} 1
grpc_server_handled_total{grpc_code="Aborted",grpc_method="MemberRemove",grpc_service="etcdserverpb.Cluster",grpc_type="unary"} 0
grpc_server_started_total{grpc_method="MemberRemove",grpc_service="etcdserverpb.Cluster",grpc_type="unary"} 3
`
	got, err := removeCounts(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"OK": 2, "NotFound": 1}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := removeCounts(strings.NewReader(`grpc_server_handled_total{grpc_method="MemberRemove"} x`)); err == nil {
		t.Error("a line without code was accepted")
	}
}

func TestIncreases(t *testing.T) {
	got := increases(map[string]int{"OK": 2, "NotFound": 5, "Same": 1}, map[string]int{"OK": 3, "NotFound": 1, "Same": 1, "New": 4})
	if diff := cmp.Diff(map[string]int{"OK": 1, "NotFound": 1, "New": 4}, got); diff != "" {
		t.Error(diff)
	}
}

func kinds(events []timeline.Event) []timeline.Kind {
	var out []timeline.Kind
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

func TestMachineEvents(t *testing.T) {
	fresh := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
		Name: "cp-1", Labels: map[string]string{clusterv1.MachineControlPlaneLabel: ""},
		Annotations: map[string]string{"pre-terminate.delete.hook.machine.cluster.x-k8s.io/rke2-cleanup": "", "other": ""},
	}, Spec: clusterv1.MachineSpec{Version: "v1.36.3+rke2r1"}}
	joined := fresh.DeepCopy()
	joined.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	joined.Status.NodeRef = clusterv1.MachineNodeReference{Name: "node-1"}
	leaving := joined.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: zero}
	leaving.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: "DrainingNode", Message: "Pod a"}}
	released := leaving.DeepCopy()
	released.Annotations = map[string]string{}
	for name, tc := range map[string]struct {
		before, now *clusterv1.Machine
		gone        bool
		want        []timeline.Event
	}{
		"first look": {nil, fresh, false, []timeline.Event{{Kind: timeline.MachineCreated, Machine: "cp-1", Role: timeline.Server, Version: "v1.36.3+rke2r1"}}},
		"up and joined": {fresh, joined, false, []timeline.Event{
			{Kind: timeline.MachineBooted, Machine: "cp-1"}, {Kind: timeline.MachineJoined, Machine: "cp-1", Node: "node-1"}}},
		"leaving": {joined, leaving, false, []timeline.Event{
			{Kind: timeline.MachineDeleting, Machine: "cp-1"}, {Kind: timeline.MachineStep, Machine: "cp-1", Object: "DrainingNode", Detail: "Pod a"}}},
		"only hooks count": {leaving, released, false, []timeline.Event{
			{Kind: timeline.HookReleased, Machine: "cp-1", Object: "pre-terminate.delete.hook.machine.cluster.x-k8s.io/rke2-cleanup"}}},
		"gone":      {released, released, true, []timeline.Event{{Kind: timeline.MachineGone, Machine: "cp-1"}}},
		"no change": {joined, joined, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, machineEvents(tc.before, tc.now, tc.gone)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNodeEvents(t *testing.T) {
	node := func(ready corev1.ConditionStatus, marks ...string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{}, Annotations: map[string]string{}}}
		if ready != "" {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		}
		for _, m := range marks {
			switch m {
			case "exclude":
				n.Labels[excludeLabel] = ""
			case "remove":
				n.Annotations[removeAnnotation] = "true"
			}
		}
		return n
	}
	for name, tc := range map[string]struct {
		before, now *corev1.Node
		gone        bool
		want        []timeline.Kind
	}{
		"first look, ready":   {nil, node("True"), false, []timeline.Kind{timeline.NodeReady}},
		"first look, new":     {nil, node("False"), false, []timeline.Kind{timeline.NodeNotReady}},
		"becomes ready":       {node("False"), node("True"), false, []timeline.Kind{timeline.NodeReady}},
		"lost":                {node("True"), node("Unknown"), false, []timeline.Kind{timeline.NodeNotReady}},
		"still lost":          {node("Unknown"), node("False"), false, nil},
		"excluded once":       {node("True"), node("True", "exclude"), false, []timeline.Kind{timeline.NodeExcluded}},
		"still excluded":      {node("True", "exclude"), node("True", "exclude"), false, nil},
		"removal asked":       {node("True"), node("True", "remove"), false, []timeline.Kind{timeline.NodeRemoveAsked}},
		"removal asked again": {node("True", "remove"), node("True", "remove"), false, nil},
		"gone":                {node("True"), node("True"), true, []timeline.Kind{timeline.NodeGone}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, kinds(nodeEvents(tc.before, tc.now, tc.gone))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMemberEvents(t *testing.T) {
	a := Member{ID: 1, Name: "n-1-aa", Node: "n-1", Leader: true}
	b := Member{ID: 2, Name: "n-2-bb", Node: "n-2", Learner: true}
	unstarted := Member{ID: 2}
	voter := b
	voter.Learner = false
	leader := voter
	leader.Leader = true
	follower := a
	follower.Leader = false
	for name, tc := range map[string]struct {
		before, now []Member
		leader      uint64
		want        []timeline.Kind
	}{
		"first":           {nil, []Member{a}, 0, []timeline.Kind{timeline.MemberAdded, timeline.LeaderChanged}},
		"not yet started": {[]Member{a}, []Member{a, unstarted}, 1, nil},
		"started":         {[]Member{a, unstarted}, []Member{a, b}, 1, []timeline.Kind{timeline.MemberAdded}},
		"promoted":        {[]Member{a, b}, []Member{a, voter}, 1, []timeline.Kind{timeline.MemberVoter}},
		"leads":           {[]Member{a, voter}, []Member{follower, leader}, 1, []timeline.Kind{timeline.LeaderChanged}},
		"gone":            {[]Member{follower, leader}, []Member{leader}, 2, []timeline.Kind{timeline.MemberGone}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, kinds(memberEvents(tc.before, tc.now, tc.leader))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNodeOf(t *testing.T) {
	for member, want := range map[string]string{"cp-x7-0a1b2c3d": "cp-x7", "plain": "plain", "": ""} {
		if got := nodeOf(member); got != want {
			t.Errorf("%q: %q", member, got)
		}
	}
}

func TestPodEventsCarryTheRevisionOfTheChange(t *testing.T) {
	log := &timeline.Log{}
	w := &workload{log: log, pods: map[string]podState{}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "slow"}, Spec: corev1.PodSpec{NodeName: "n"}}
	w.pod(seen{object: pod, revision: 3})
	running := pod.DeepCopy()
	running.Status.Phase = corev1.PodRunning
	w.pod(seen{object: running, revision: 4})
	ending := running.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{Time: zero}
	w.pod(seen{object: ending, revision: 5})
	w.pod(seen{object: ending, gone: true, revision: 6})
	var got []int64
	for _, e := range log.Events() {
		got = append(got, e.Revision)
	}
	if diff := cmp.Diff([]int64{4, 5, 6}, got); diff != "" {
		t.Error(diff)
	}
}

func TestSumPSSFollowsTheTree(t *testing.T) {
	proc := t.TempDir()
	process := func(pid, parent, kb string) {
		dir := filepath.Join(proc, pid)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"stat": pid + " (a) b) S " + parent + " 1 1", "smaps_rollup": "head\nRss: 99999 kB\nPss:   " + kb + " kB\nPss_Anon: 1 kB\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	process("10", "1", "100")
	process("11", "10", "20")
	process("12", "11", "3")
	process("13", "1", "1000")
	if got := sumPSS(proc, []int{10, 12}); got != 123<<10 {
		t.Errorf("sum %d kB, want 123", got>>10)
	}
}
