package machine

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFreeze(t *testing.T) {
	m := newManager(t)
	conn := dial(t, boot(t, m, "m1", userData))
	if err := echo(conn, "before"); err != nil {
		t.Fatal(err)
	}
	if err := m.Freeze("m1"); err != nil {
		t.Fatal(err)
	}
	if err := echo(conn, "frozen"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a frozen machine answered: %v", err)
	}
	if err := m.Thaw("m1"); err != nil {
		t.Fatal(err)
	}
	// The answer to what was said while it was frozen comes now.
	answer := make([]byte, len("frozen"))
	_ = conn.SetDeadline(time.Now().Add(deadline))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "frozen" {
		t.Fatalf("after thawing: %q %v", answer, err)
	}
}

func TestCut(t *testing.T) {
	m := newManager(t)
	conn := dial(t, boot(t, m, "m1", userData))
	if err := m.Cut("m1"); err != nil {
		t.Fatal(err)
	}
	if info, _ := m.Get("m1"); !info.Cut {
		t.Errorf("info does not show the cut: %+v", info)
	}
	if err := echo(conn, "cut"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a cut machine answered: %v", err)
	}
	if err := m.Heal("m1"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len("cut"))
	_ = conn.SetDeadline(time.Now().Add(deadline))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "cut" {
		t.Fatalf("after healing: %q %v", answer, err)
	}
}

func TestKillIsSilentAndLeavesNothing(t *testing.T) {
	m := newManager(t)
	info := boot(t, m, "m1", userData)
	conn := dial(t, info)
	if err := echo(conn, "before"); err != nil {
		t.Fatal(err)
	}
	namespace, err := os.Readlink(pidNamespace(m.machines["m1"].process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Kill("m1"); err != nil {
		t.Fatal(err)
	}
	if info, _ := m.Get("m1"); info.State != Terminated || info.Reason != "killed" {
		t.Errorf("after the kill: %+v", info)
	}
	if left, err := members(namespace); err != nil || len(left) > 0 {
		t.Errorf("processes left: %v %v", left, err)
	}
	if err := echo(conn, "after"); err == nil || errors.Is(err, io.EOF) || strings.Contains(err.Error(), "reset") {
		t.Errorf("a dead machine must be silent, but: %v", err)
	}
	if _, err := net.InterfaceByName(m.machines["m1"].link); err == nil {
		t.Error("its cable is still there")
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(mounts, []byte(m.runDir)) {
		t.Error("a mount of the machine shows outside of it")
	}
	if _, err := m.Exec(testContext(t), "m1", []string{"true"}, nil); !errors.Is(err, ErrNotRunning) {
		t.Errorf("exec in a dead machine: %v", err)
	}
	if err := m.Remove("m1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(m.runDir, "machines/m1")); !os.IsNotExist(err) {
		t.Errorf("its disk is still there: %v", err)
	}
	if again := boot(t, m, "m1", ""); again.IP == info.IP {
		t.Errorf("the address %s was given out again", info.IP)
	}
}
