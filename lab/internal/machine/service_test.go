package machine

import (
	"strings"
	"testing"
	"time"
)

// mainPID returns the main process of rke2-server.
func mainPID(t *testing.T, m *Manager, name string) string {
	t.Helper()
	out := string(run(t, m, name, "systemctl", "status", "rke2-server").Stdout)
	_, pid, found := strings.Cut(strings.TrimSuffix(strings.TrimSpace(out), ")"), "(main PID ")
	if !found {
		t.Fatalf("status: %q", out)
	}
	return pid
}

// shell runs a script in a machine and returns its trimmed output.
func shell(t *testing.T, m *Manager, name, script string) string {
	t.Helper()
	result := run(t, m, name, "sh", "-c", script)
	return strings.TrimSpace(string(result.Stdout) + string(result.Stderr))
}

func TestServiceStopsAndRestarts(t *testing.T) {
	m := newManager(t)
	boot(t, m, "m1", userData)
	before := mainPID(t, m, "m1")
	if got := shell(t, m, "m1", "systemctl restart rke2-server && systemctl is-active rke2-server"); got != "active" {
		t.Fatalf("after restart: %q", got)
	}
	if after := mainPID(t, m, "m1"); after == before || after == "0" {
		t.Errorf("main process before the restart %s, after %s", before, after)
	}
	if got := shell(t, m, "m1", "systemctl stop rke2-server && systemctl is-active rke2-server"); got != "inactive" {
		t.Errorf("after stop: %q", got)
	}
	if got := shell(t, m, "m1", "pgrep -c sleep"); got != "2" {
		t.Errorf("%s children of two runs outlived the service, want 2 (KillMode=process)", got)
	}
	if got := shell(t, m, "m1", "systemctl unmask rke2-agent && systemctl start rke2-server rke2-agent; systemctl is-active rke2-agent"); got != "inactive" {
		t.Errorf("an agent beside a server: %q", got)
	}
}

func TestServiceComesBack(t *testing.T) {
	m := newManager(t)
	boot(t, m, "m1", userData)
	killed := mainPID(t, m, "m1")
	began := time.Now()
	shell(t, m, "m1", "kill -9 "+killed+"; while kill -0 "+killed+" 2>/dev/null; do :; done")
	for {
		if pid := mainPID(t, m, "m1"); pid != "0" && pid != killed {
			break
		}
		if time.Since(began) > deadline {
			t.Fatal("it did not come back")
		}
	}
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("it came back after %v, want the 5 s of RestartSec", took)
	}
}

func TestStartDuringThePauseBeforeARestart(t *testing.T) {
	m := newManager(t)
	boot(t, m, "m1", userData)
	killed := mainPID(t, m, "m1")
	began := time.Now()
	if got := shell(t, m, "m1", "kill -9 "+killed+"; while kill -0 "+killed+" 2>/dev/null; do :; done; systemctl start rke2-server && systemctl is-active rke2-server"); got != "active" {
		t.Errorf("start: %q", got)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %v: a start must not wait for RestartSec", took)
	}
	if got := shell(t, m, "m1", "systemctl stop rke2-server; systemctl is-active rke2-server"); got != "inactive" {
		t.Errorf("stop: %q", got)
	}
}
