package machine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drover-project/drover/lab/internal/guest"
)

// testDir is the run folder of the shared manager.
var testDir string

// manager is shared: there is one bridge per sandbox.
var manager = sync.OnceValues(func() (m *Manager, err error) {
	if testDir, err = os.MkdirTemp("", "lab-run-"); err != nil {
		return nil, err
	}
	return NewManager(testDir)
})

func newManager(t *testing.T) *Manager {
	t.Helper()
	m, err := manager()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, info := range m.List() {
			if err := m.Remove(info.Name); err != nil {
				t.Error(err)
			}
		}
	})
	return m
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

const userData = `#cloud-config
write_files:
- path: /etc/rancher/rke2/config.yaml
  content: "token: secret"
  owner: root:root
  permissions: "0640"
- path: /usr/local/lib/systemd/system/rke2-server.env
  content: STUB_MODE="quick"
runcmd:
- curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=v1.36.3+rke2r1 sh -s - server
- systemctl mask rke2-agent.service
- systemctl enable rke2-server.service
- systemctl start rke2-server.service
- mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete
`

// boot boots a machine and waits until its user data has been worked off.
func boot(t *testing.T, m *Manager, name, userData string) Info {
	t.Helper()
	return bootWith(t, m, name, CloudConfig, userData)
}

func bootWith(t *testing.T, m *Manager, name string, format Format, userData string) Info {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx := testContext(t)
	info, err := m.Boot(ctx, Spec{
		Name: name, Cluster: "c1", Role: ControlPlane, BootstrapData: []byte(userData), Format: format,
		ProviderID: "lab://c1/" + name, FailureDomain: "fd1", LabBinary: self, KubeBinary: self,
	})
	if err != nil {
		console, _ := os.ReadFile(filepath.Join(m.runDir, "machines", name, consoleFile))
		t.Fatalf("%v\n%s", err, console)
	}
	if info.State != Running {
		t.Fatalf("state after boot: %+v", info)
	}
	return await(t, m, name, func(i Info) bool { return i.Boot.State != guest.BootPending })
}

func await(t *testing.T, m *Manager, name string, condition func(Info) bool) Info {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for info := range m.Watch(ctx) {
		if info.Name == name && condition(info) {
			return info
		}
	}
	info, _ := m.Get(name)
	t.Fatalf("machine %s did not get there in time: %+v", name, info)
	return Info{}
}

func run(t *testing.T, m *Manager, name string, argv ...string) guest.ExecResult {
	t.Helper()
	result, err := m.Exec(testContext(t), name, argv, nil)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// echo sends a word through conn and fails unless it comes back.
func echo(conn net.Conn, word string) error {
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return err
	}
	answer := make([]byte, len(word))
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	if string(answer) != word {
		return errors.New("another answer: " + string(answer))
	}
	return nil
}

func dial(t *testing.T, info Info) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", info.IP.String()+":9345", 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestBoot(t *testing.T) {
	m := newManager(t)
	info := boot(t, m, "m1", userData)
	if info.Boot.State != guest.BootSucceeded {
		log, _ := os.ReadFile(filepath.Join(m.runDir, "machines/m1/var/log/cloud-init-output.log"))
		t.Fatalf("boot: %+v\n%s", info.Boot, log)
	}
	for _, check := range []struct{ script, want string }{
		{"cat /etc/rancher/rke2/config.yaml", "token: secret"},
		{"stat -c '%a %U' /etc/rancher/rke2/config.yaml", "640 root"},
		{"cat /usr/local/share/rke2/version", "v1.36.3+rke2r1"},
		{"cat /run/cluster-api/bootstrap-success.complete", "success"},
		{"echo $(hostname) is $(cat /etc/hostname)", "m1 is m1"},
		{"systemctl is-active rke2-server; systemctl is-active rke2-agent; systemctl is-enabled rke2-agent.service", "active\ninactive\nmasked"},
		{"journalctl -u rke2-server.service -n 1", "stub started: server mode quick"},
		{"cat /run/lab/instance.json", `{"name":"m1","hostname":"m1","cluster":"c1","ip":"` + info.IP.String() + `","providerID":"lab://c1/m1","failureDomain":"fd1"}`},
		{"touch /usr/mine 2>&1 | grep -c Read-only", "1"},
		{"touch /proc/sys/kernel/panic; echo 1 2>/dev/null > /proc/sys/kernel/panic || echo refused", "refused"},
		{"ls -A " + m.runDir, ""},
		{"echo > /opt/x && echo > /usr/local/bin/x && echo > /root/x && echo > /tmp/x && echo > /dev/shm/x && echo done", "done"},
	} {
		result := run(t, m, "m1", "sh", "-c", check.script)
		if got := strings.TrimSpace(string(result.Stdout)); got != check.want {
			t.Errorf("%s: got %q (%s), want %q", check.script, got, result.Stderr, check.want)
		}
	}
	conn, err := m.DialInside(testContext(t), "m1", "127.0.0.1:9345")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := echo(conn, "inside"); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/opt/x", "/usr/local/bin/x", "/etc/rancher/rke2/config.yaml"} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s of the machine shows on the computer", path)
		}
	}
}

func TestTwoMachinesReachEachOther(t *testing.T) {
	m := newManager(t)
	boot(t, m, "m1", userData)
	second := boot(t, m, "m2", "")
	first, _ := m.Get("m1")
	if first.IP == second.IP {
		t.Fatalf("both have %s", first.IP)
	}
	script := `exec 3<>/dev/tcp/` + first.IP.String() + `/9345; echo hello >&3; head -n1 <&3`
	if result := run(t, m, "m2", "bash", "-c", script); string(result.Stdout) != "hello\n" {
		t.Errorf("from m2: %q %s", result.Stdout, result.Stderr)
	}
}

func TestMachineThatEndsByItself(t *testing.T) {
	m := newManager(t)
	boot(t, m, "m1", "")
	// The service manager is the child of process 1.
	if _, err := m.Exec(testContext(t), "m1", []string{"sh", "-c", "kill -9 $PPID"}, nil); err == nil {
		t.Error("the command outlived its machine")
	}
	info := await(t, m, "m1", func(i Info) bool { return i.State == Terminated })
	if !strings.Contains(info.Reason, "its first process ended") {
		t.Errorf("reason: %q", info.Reason)
	}
}

func TestFailuresAreTold(t *testing.T) {
	m := newManager(t)
	for _, test := range []struct{ name, data, log, message string }{
		{"malformed", "#cloud-config\nruncmd: {a: b}\n", "", "runcmd must be a list"},
		{"not-installed", "#cloud-config\nruncmd: [systemctl start rke2-server]\n", "Unit rke2-server.service not found.", "exit status 5"},
		{"no-version", "#cloud-config\nruncmd: ['set -e; curl -sfL https://get.rke2.io > /tmp/i; sh /tmp/i']\n", "failed to find a version for channel stable", "exit status 1"},
		{"bad-version", "#cloud-config\nruncmd: ['curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=v1.36 sh -']\n", "error: 404", "exit status 22"},
		{
			"broken", "#cloud-config\nwrite_files: [{path: /etc/rke2-broken}]\nruncmd:\n- curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=v1.36.3+rke2r1 sh -\n- systemctl start rke2-server\n",
			"Job for rke2-server.service failed: the main process ended before it was ready: exit status 3", "exit status 1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			info := boot(t, m, test.name, test.data)
			if info.Boot.State != guest.BootFailed || !strings.Contains(info.Boot.Message, test.message) {
				t.Errorf("boot: %+v, want %q", info.Boot, test.message)
			}
			log, err := os.ReadFile(filepath.Join(m.runDir, "machines", test.name, "var/log/cloud-init-output.log"))
			if err != nil || !bytes.Contains(log, []byte(test.log)) {
				t.Errorf("log: %s %v, want %q", log, err, test.log)
			}
		})
	}
}

func TestBootRefuses(t *testing.T) {
	m := newManager(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	boot(t, m, "m1", "")
	for _, test := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "M_1", LabBinary: self}, "DNS label"},
		{Spec{Name: "m2", LabBinary: "lab"}, "must be absolute"},
		{Spec{Name: "m1", LabBinary: self}, ErrExists.Error()},
		{Spec{Name: "m2", LabBinary: self, Format: "toml"}, `do not understand the format "toml"`},
		{Spec{Name: "m3", LabBinary: "/does/not/exist"}, "no such file"},
		{Spec{Name: "m4", LabBinary: self, KubeBinary: "/does/not/exist"}, "open /does/not/exist"},
	} {
		if _, err := m.Boot(testContext(t), test.spec); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.spec, err, test.want)
		}
	}
	if info, _ := m.Get("m4"); info.State != Failed {
		t.Errorf("a machine that could not start: %+v", info)
	}
}
