package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
	"github.com/drover-project/drover/internal/trace"
)

// atRest is a control plane of one server at a time.
func atRest(now time.Time) model.Snapshot {
	return model.Snapshot{
		Now: now,
		ControlPlane: model.ControlPlane{
			Namespace: "demo", Name: "cp", Replicas: 1, MaxSurge: 1, Version: "v1.36.3+rke2r1", Initialized: true,
		},
		Cluster: model.Cluster{Name: "demo", InfrastructureReady: true, Endpoint: "192.0.2.1:6443", Template: model.Known(true, now), Certificates: model.Known(true, now)},
		Machines: []model.Machine{{
			Name: "cp-1", UID: "1", Created: now.Add(-time.Hour), PreDrainHook: true, PreTerminateHook: true, InfrastructureReady: true,
			InfrastructureGone: model.Known(false, now), NodeName: "node-1",
			Node: model.Known(model.Node{Exists: true, Ready: model.Yes, ReadySince: now.Add(-time.Hour), MemberAnnotated: true}, now),
		}},
		Etcd: model.Etcd{Members: model.Known([]model.Member{{
			ID: 1, Name: "node-1-0000000a", Leader: true, Machine: "cp-1", Answers: model.Known(true, now), NodeReady: model.Yes,
		}}, now)},
	}
}

// traced writes a trace of the snapshots and returns its path.
func traced(t *testing.T, snapshots ...model.Snapshot) string {
	t.Helper()
	var out bytes.Buffer
	w := trace.NewWriter(&out)
	for _, s := range snapshots {
		if err := w.Write(trace.Record{Time: s.Now, ControlPlane: "demo/cp", UID: "u", Snapshot: s, Decision: plan.Decide(s), Result: trace.Result{State: trace.None}}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "trace.ndjson")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func callReplay(t *testing.T, path string) (string, error) {
	t.Helper()
	c := root()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetArgs([]string{"replay", path})
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestReplayFollowsATrace(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	deleted := atRest(now.Add(time.Minute))
	deleted.Machines[0].Deleting, deleted.Machines[0].DeletingSince = true, now
	out, err := callReplay(t, traced(t, atRest(now), deleted))
	if err != nil || out != "demo/cp: 2 records, and the model could have done all of it\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// A manager that is killed while it writes leaves half a line, and the next one
// goes on behind it.
func TestReplayPassesOverHalfALine(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	deleted := atRest(now.Add(time.Minute))
	deleted.Machines[0].Deleting, deleted.Machines[0].DeletingSince = true, now
	path := traced(t, atRest(now), deleted)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(whole), "\n")
	for name, c := range map[string]struct{ line, want string }{
		"half":      {first[:len(first)/2], "line 2 is passed over: it ends in the middle, as when a manager is killed\ndemo/cp: 2 records, and the model could have done all of it\n"},
		"something": {"}" + first, ""},
	} {
		if err := os.WriteFile(path, []byte(first+"\n"+c.line+"\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := callReplay(t, path); out != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// A manager that never reached etcd gave nothing to follow, which is no success.
func TestReplaySaysWhenNothingWasSeen(t *testing.T) {
	blind := atRest(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	blind.Etcd.Members = model.Unknown[[]model.Member]("no voter answered", blind.Now)
	out, err := callReplay(t, traced(t, blind))
	if err == nil || errors.Is(err, errViolation) || out != "demo/cp: 1 records, and nothing to follow: etcd was read in none of them\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestReplayShowsAGap(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	impossible := atRest(now.Add(time.Minute))
	impossible.Machines[0].NodeName, impossible.Machines[0].NodeAbsent, impossible.Machines[0].Node = "", true, model.Fact[model.Node]{}
	out, err := callReplay(t, traced(t, atRest(now), impossible))
	if !errors.Is(err, errViolation) || !strings.Contains(out, "line 2: the model can't get from") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestReplayNamesWhatItCanNotRead(t *testing.T) {
	if _, err := callReplay(t, filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v", err)
	}
	path := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(path, []byte("{]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := callReplay(t, path); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("error %v", err)
	}
}
