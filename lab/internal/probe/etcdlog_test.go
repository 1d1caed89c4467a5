package probe

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/drover-project/drover/lab/internal/timeline"
)

// machinery answers with the logs of machines; one without a log has ended.
type machinery map[string]string

func (m machinery) MachineNames(context.Context) ([]string, error) {
	return []string{"a", "b", "c"}, nil
}

func (m machinery) Exec(_ context.Context, machine string, _ ...string) (string, int, error) {
	text, ok := m[machine]
	if !ok {
		return "", 0, errors.New("the machine has ended")
	}
	return text, 0, nil
}

const (
	logLine = `2026-03-01T12:00:09.9Z stderr F {"level":"info","ts":"2026-03-01T12:00:01.250000Z","caller":"membership/cluster.go:460",` +
		`"msg":"removed member","cluster-id":"1","local-member-id":"2","removed-remote-peer-id":"93e6b65575e27a",` +
		`"removed-remote-peer-urls":["https://10.77.0.21:2380"],"removed-remote-peer-is-learner":false}`
	earlierLine = `2026-03-01T12:00:09.9Z stderr F {"level":"info","ts":"2026-03-01T13:00:01.200000+0100",` +
		`"msg":"removed member","removed-remote-peer-id":"93e6b65575e27a"}`
	otherLine = `2026-03-01T12:00:09.9Z stderr F {"level":"info","ts":"2026-03-01T12:00:01.000000Z","msg":"added member",` +
		`"removed-remote-peer-id":"93e6b65575e27a"}`
	strangerLine = `2026-03-01T12:00:09.9Z stderr F {"level":"info","ts":"2026-03-01T12:00:01.000000Z","msg":"removed member",` +
		`"removed-remote-peer-id":"1"}`
)

func TestEtcdLogsTellTheEarliestMoment(t *testing.T) {
	const id = 0x93e6b65575e27a
	log := &timeline.Log{}
	members := &Membership{log: log, known: map[uint64]Member{}}
	members.take([]Member{{ID: id, Name: "cp-1-0a1b2c3d", Node: "cp-1"}, {ID: 7}}, at(0))
	lab := machinery{"a": "", "b": "not a log\n" + otherLine + "\n" + strangerLine + "\n" + logLine + "\n"}
	logs := &EtcdLogs{lab: lab, members: members, log: log, told: map[uint64]time.Time{}}
	told := func() []timeline.Event {
		return slices.DeleteFunc(log.Events(), func(e timeline.Event) bool { return e.Kind != timeline.MemberRemoved })
	}
	logs.Read(t.Context())
	want := []timeline.Event{{Kind: timeline.MemberRemoved, At: at(1250), Node: "cp-1", Object: "cp-1-0a1b2c3d"}}
	if diff := cmp.Diff(want, told()); diff != "" {
		t.Fatal(diff)
	}
	logs.Read(t.Context())
	if n := len(told()); n != 1 {
		t.Errorf("told %d times", n)
	}
	lab["c"] = earlierLine
	logs.Read(t.Context())
	if got := told(); len(got) != 2 || !got[0].At.Equal(at(1200)) {
		t.Errorf("told %+v", got)
	}
	if _, ok := members.Known(7); ok {
		t.Error("a member without a name is known")
	}
}

func TestWrittenIsTheLastStamp(t *testing.T) {
	stamp := func(ms int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Time: &metav1.Time{Time: at(ms)}}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{stamp(1000), stamp(9000), {}, stamp(3000)}}}
	if got := written(node); !got.Equal(at(9000)) {
		t.Errorf("written %s", got)
	}
	if got := written(&corev1.Node{}); !got.IsZero() {
		t.Errorf("nobody stamped it, yet %s", got)
	}
}

// The stamp of a Machine is that of whoever last set something, so it does not date what was only taken away.
func TestOnlyWhatWasSetIsStamped(t *testing.T) {
	s := seen{written: at(1000)}
	for kind, want := range map[timeline.Kind]time.Time{
		timeline.MachineStep: at(1000), timeline.NodeExcluded: at(1000), timeline.LeaseRenewed: at(1000),
		timeline.HookReleased: {}, timeline.MachineDeleting: {}, timeline.PodTerminating: {},
	} {
		if got := s.dated(timeline.Event{Kind: kind}).Written; !got.Equal(want) {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
