package story

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drover-project/drover/lab/internal/timeline"
)

func TestResultsBecomeATable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results")
	if none, err := ReadResults(file); err != nil || none != nil {
		t.Errorf("without a story: %v, %v", none, err)
	}
	for i, name := range []string{"good", "bad"} {
		r := &Run{Log: &timeline.Log{}, start: time.Now().Add(-time.Minute)}
		if i == 0 {
			r.result.clients(1200*time.Millisecond, 300*time.Millisecond)
			r.result.clients(900*time.Millisecond, 400*time.Millisecond)
			r.Log.Append(timeline.Event{Kind: timeline.MachineCreated, Machine: "m1", Role: timeline.Server})
			r.Log.Append(timeline.Event{Kind: timeline.MachineDeleting, Machine: "m1"})
			r.Log.Append(timeline.Event{Kind: timeline.NodeRemoveAsked, Node: "m1"})
		}
		if err := r.writeResult(Story{Name: name}, i == 0, file); err != nil {
			t.Fatal(err)
		}
	}
	results, err := ReadResults(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Table(&out, results); err != nil {
		t.Fatal(err)
	}
	want := `story  result  duration  longest write gap  longest read gap  member calls     memory
good   PASS    1m0s      1.2s               400ms             1 for 1 servers  0.00 GiB
bad    FAIL    1m0s      -                  -                 -                0.00 GiB
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestShortStoriesRunBesideEachOther(t *testing.T) {
	n := 0
	for _, s := range All() {
		if !s.Short {
			continue
		}
		n++
		if s.Alone {
			t.Errorf("%s is short and runs alone", s.Name)
		}
	}
	if n == 0 {
		t.Error("no story is short")
	}
}
