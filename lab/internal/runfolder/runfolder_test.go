package runfolder

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPrepareClaimsOnce(t *testing.T) {
	folder := Folder(filepath.Join(t.TempDir(), "lab"))
	claim, err := folder.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Prepare(); err == nil || !strings.Contains(err.Error(), "just being started") {
		t.Errorf("a second start gave %v", err)
	}
	claim.Release()
	host, err := folder.LockHost()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Prepare(); err == nil || !strings.Contains(err.Error(), "already running") {
		t.Errorf("a start beside a running lab gave %v", err)
	}
	if err := folder.Remove(false); err == nil {
		t.Error("the folder of a running lab was removed")
	}
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	claim, err = folder.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	claim.Release()
	if !claim.Cleaned {
		t.Error("the remains of the dead lab were not noticed")
	}
}

func TestPrepareKeepsForeignFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(file, []byte("years of work"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder(dir).Prepare(); err == nil || !strings.Contains(err.Error(), "not the run folder of a lab") {
		t.Errorf("a foreign folder gave %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestRemoveKeepsLogs(t *testing.T) {
	folder := Folder(filepath.Join(t.TempDir(), "lab"))
	claim, err := folder.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	claim.Release()
	closed := filepath.Join(string(folder), "machines", "work")
	if err := os.MkdirAll(filepath.Join(closed, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	if err := folder.Remove(true); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(string(folder))
	if err != nil || !onlyLogs(entries) {
		t.Errorf("left over: %v, %v", entries, err)
	}
	if claim, err = folder.Prepare(); err != nil {
		t.Fatalf("after --keep: %v", err)
	}
	claim.Release()
}

func TestProcessEnds(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	process, err := Describe(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !process.Running() {
		t.Error("a running process counts as ended")
	}
	if (&Process{PID: process.PID, Started: process.Started + 1}).Running() {
		t.Error("another process with the same id counts as the same")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	// It stays as a zombie until Wait, which must count as ended.
	if err := process.WaitGone(ctx); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}
