package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

// What is to be replaced, and why, is told whether or not it goes on.
func TestRolloutPreview(t *testing.T) {
	outdated := func(in *Input, i int, reasons ...string) {
		in.Snapshot.Machines[i].Outdated = reasons
	}
	held := []model.Wait{{Message: "rollouts are held: freeze"}}
	later, sooner := now.Add(48*time.Hour+time.Millisecond), now.Add(24*time.Hour)
	for name, c := range map[string]struct {
		change func(*Input)
		want   *controlplanev1.RolloutStatus
	}{
		"nothing":           {func(*Input) {}, nil},
		"held, but nothing": {func(in *Input) { in.Held = held }, nil},
		"in the planner's order": {func(in *Input) {
			outdated(in, 0, "version v1, wanted v2", "RKE2 configuration changed: files")
			outdated(in, 2, "version v1, wanted v2")
			in.Order, in.Held = []string{"cp-c", "cp-a"}, held
		}, &controlplanev1.RolloutStatus{
			Pending: []controlplanev1.PendingReplacement{
				{Machine: "cp-c", Reasons: []string{"version v1, wanted v2"}},
				{Machine: "cp-a", Reasons: []string{"version v1, wanted v2", "RKE2 configuration changed: files"}},
			},
			Held: []string{"rollouts are held: freeze"},
		}},
		"by the time": {func(in *Input) {
			in.Snapshot.Machines[0].OutdatedAt, in.Snapshot.Machines[1].OutdatedAt = later, sooner
		}, &controlplanev1.RolloutStatus{NextTime: metav1.NewTime(sooner)}},
		"who is outdated or leaves has no next time": {func(in *Input) {
			for i, at := range []time.Time{sooner, sooner, later} {
				in.Snapshot.Machines[i].OutdatedAt = at
			}
			outdated(in, 0, "version v1, wanted v2")
			in.Snapshot.Machines[1].Deleting = true
		}, &controlplanev1.RolloutStatus{NextTime: metav1.NewTime(now.Add(48 * time.Hour))}},
	} {
		in := healthy(3)
		c.change(&in)
		if diff := cmp.Diff(c.want, Make(in).Status.Rollout); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// The Machine's condition also tells of a node that runs another release than
// its Machine asks for.
func TestUpToDate(t *testing.T) {
	for name, c := range map[string]struct {
		kubelet  string
		outdated []string
		want     string
	}{
		"not known":       {"", nil, ""},
		"the same":        {"v1.36.3+rke2r1", nil, ""},
		"no release":      {"v1.36.3", nil, ""},
		"another build":   {"v1.36.3+rke2r2", nil, "* the node runs v1.36.3+rke2r2, the Machine's version is v1.36.3+rke2r1"},
		"and a change":    {"v1.35.3+rke2r1", []string{"a"}, "* a\n* the node runs v1.35.3+rke2r1, the Machine's version is v1.36.3+rke2r1"},
		"only the change": {"v1.36.3+rke2r1", []string{"a"}, "* a"},
	} {
		in := healthy(1)
		if c.kubelet != "" {
			in.Machines[0].Status.NodeInfo = &corev1.NodeSystemInfo{KubeletVersion: c.kubelet}
		}
		in.Snapshot.Machines[0].Outdated = c.outdated
		got, ok := find(Make(in).MachineConditions["cp-a"], controlplanev1.MachineUpToDateCondition)
		want := metav1.ConditionFalse
		if c.want == "" {
			want = metav1.ConditionTrue
		}
		if !ok || got.Status != want || got.Message != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
