package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/trace"
)

func decided(second int, rule string) trace.Record {
	now := time.Date(2026, 12, 1, 10, 0, second, 0, time.UTC)
	return trace.Record{
		Time: now, ControlPlane: "default/demo", UID: "1",
		Snapshot: model.Snapshot{Now: now}, Decision: model.Decision{Rule: rule}, Result: trace.Result{State: trace.None},
	}
}

func TestTraceFileIsAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.ndjson")
	for run, rules := range [][]string{{"a", "b", "b", "b"}, {"b"}} {
		file, err := openTrace(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, rule := range rules {
			if err := file.Write(decided(10*run+i, rule)); err != nil {
				t.Fatal(err)
			}
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if run == 0 {
			// The next manager comes after one that was killed in the middle of a line.
			tearLine(t, path)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := trace.NewReader(strings.NewReader(string(text))); ; {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			got = append(got, err.Error()[:len("line 4")])
			continue
		}
		got = append(got, record.Decision.Rule+record.Time.Format(":05"))
	}
	if want := "a:00 b:01 b:03 line 4 b:10"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q in\n%s", got, want, text)
	}
}

func tearLine(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString(`{"v":1,"time":"2026-`)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestTraceThatCannotBeOpened(t *testing.T) {
	_, err := openTrace(filepath.Join(t.TempDir(), "missing", "decisions.ndjson"))
	if err == nil || !strings.Contains(err.Error(), "--decision-trace") || !strings.Contains(err.Error(), "missing/decisions.ndjson") {
		t.Errorf("got %v", err)
	}
}
