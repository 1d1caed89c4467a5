package trace_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/trace"
)

// The caller goes on working with what it has written.
func TestWriterKeepsACopy(t *testing.T) {
	var b bytes.Buffer
	w := trace.NewWriter(&b)
	kept := at(1)
	for _, r := range []trace.Record{at(0), kept} {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	kept.Snapshot.Machines[0].Name = "changed"
	kept.Snapshot.Machines[0].Components["etcd"] = model.Known(false, kept.Time)
	kept.Decision.Waits[0].Blockers[0].Name = "changed"
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, &b); len(got) != 2 || !reflect.DeepEqual(got[1], at(1)) {
		t.Errorf("got %+v, want %+v", got, at(1))
	}
}

func TestForgetIsTheEnd(t *testing.T) {
	var b bytes.Buffer
	w := trace.NewWriter(&b)
	for i := range 3 {
		if err := w.Write(at(i)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := w.Forget("default/demo"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Write(at(9)); err != nil {
		t.Fatal(err)
	}
	want := []trace.Record{at(0), at(2, func(r *trace.Record) { r.Unchanged, r.LastSeen = 1, at(1).Time }), at(9)}
	if got := read(t, &b); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// full is a disk without room for the second to the fourth record.
type full struct {
	bytes.Buffer
	writes int
}

func (f *full) Write(p []byte) (int, error) {
	f.writes++
	if f.writes > 1 && f.writes < 5 {
		n, _ := f.Buffer.Write(p[:len(p)/2])
		return n, errors.New("no space left on device")
	}
	return f.Buffer.Write(p)
}

func TestFailedWriteIsCountedAndEndsItsLine(t *testing.T) {
	var disk full
	w := trace.NewWriter(&disk)
	rule := func(name string) func(*trace.Record) { return func(r *trace.Record) { r.Decision.Rule = name } }
	for i, name := range []string{"a", "b", "b", "a", "a"} {
		err := w.Write(at(i, rule(name)))
		if failed := i > 0 && i < 4; (err != nil) != failed {
			t.Fatalf("record %d: %v", i, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "default/demo") || !strings.Contains(err.Error(), "no space left")) {
			t.Errorf("record %d: %v", i, err)
		}
	}
	r := trace.NewReader(&disk.Buffer)
	var kept []trace.Record
	var faults []string
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		kept = append(kept, record)
	}
	want := []trace.Record{at(0, rule("a")), at(4, rule("a"), func(r *trace.Record) { r.Lost = 3 })}
	if !reflect.DeepEqual(kept, want) {
		t.Errorf("got  %+v\nwant %+v", kept, want)
	}
	if len(faults) != 3 || !strings.HasPrefix(faults[0], "line 2: it is no whole JSON object") {
		t.Errorf("faults %q", faults)
	}
}

func TestManyWriteAtOnce(t *testing.T) {
	var b bytes.Buffer
	w := trace.NewWriter(&b)
	var group sync.WaitGroup
	const writers, each = 8, 50
	for i := range writers {
		group.Go(func() {
			for n := range each {
				err := w.Write(at(n, func(r *trace.Record) {
					r.ControlPlane = fmt.Sprintf("default/demo-%d", i)
					r.Snapshot.ControlPlane.Replicas = n
				}))
				if err != nil {
					t.Error(err)
				}
			}
			if err := w.Forget(fmt.Sprintf("default/demo-%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	next := map[string]int{}
	for _, r := range read(t, &b) {
		if n := r.Snapshot.ControlPlane.Replicas; n != next[r.ControlPlane] {
			t.Fatalf("%s: record %d where %d was expected", r.ControlPlane, n, next[r.ControlPlane])
		}
		next[r.ControlPlane]++
	}
	for name, n := range next {
		if n != each {
			t.Errorf("%s has %d records", name, n)
		}
	}
	if len(next) != writers {
		t.Errorf("%d control planes", len(next))
	}
}
