package machine

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drover-project/drover/lab/internal/guest"
)

const installUnit = `[Unit]
Description=Install
ConditionPathExists=!/etc/done
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh /etc/install.sh
KillMode=process
[Install]
WantedBy=multi-user.target
`

// ignited returns a config whose unit install.service runs the script. It comes
// after another unit, which leaves a word.
func ignited(t *testing.T, script string) string {
	t.Helper()
	type object = map[string]any
	file := func(path, content string, mode int) object {
		source := "data:;base64," + base64.StdEncoding.EncodeToString([]byte(content))
		return object{"path": path, "mode": mode, "overwrite": true, "contents": object{"source": source}}
	}
	first := "[Service]\nType=oneshot\nExecStart=/bin/touch /run/first\n[Install]\nWantedBy=multi-user.target\n"
	data, err := json.Marshal(object{
		"ignition": object{"version": "3.3.0"},
		"passwd":   object{"users": []object{{"name": "core"}}},
		"storage": object{"files": []object{
			file("/etc/install.sh", script, 0o700), file("/etc/rancher/rke2/config.yaml", "token: secret", 0o600),
			file("/usr/local/lib/systemd/system/rke2-server.env", "STUB_MODE=ignited", 0o644),
		}},
		"systemd": object{"units": []object{
			{"name": "install.service", "enabled": true, "contents": installUnit, "dropins": []object{
				{"name": "10-after.conf", "contents": "[Unit]\nAfter=later.service\n"},
			}},
			{"name": "later.service", "enabled": true, "contents": first},
			{"name": "rke2-agent.service", "mask": true},
			{"name": "chronyd.service", "enabled": true},
			{"name": "daemon.service", "enabled": true, "contents": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const installScript = `set -e
[ -e /run/first ]
curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=v1.36.3+rke2r1 sh -s - server
systemctl enable rke2-server.service
systemctl start rke2-server.service
echo ran >>/etc/runs
`

const succeed = "mkdir -p /run/cluster-api && echo success >/etc/done && echo success >/run/cluster-api/bootstrap-success.complete\n"

// bootLog is what was printed while the machine booted.
func bootLog(t *testing.T, m *Manager, name string) string {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(m.runDir, "machines", name, "var/log/cloud-init-output.log"))
	if err != nil {
		t.Error(err)
	}
	return string(log)
}

func TestBootWithIgnition(t *testing.T) {
	m := newManager(t)
	info := bootWith(t, m, "m1", Ignition, ignited(t, installScript+succeed))
	log := bootLog(t, m, "m1")
	if info.Boot.State != guest.BootSucceeded {
		t.Fatalf("boot: %+v\n%s", info.Boot, log)
	}
	await(t, m, "m1", func(i Info) bool { return i.Bootstrap.State == guest.BootSucceeded })
	for _, want := range []string{
		"ignition: passwd.users has no effect on a lab machine\n", "Unit file chronyd.service does not exist",
		"systemd: daemon.service is not started: a lab machine runs its own services and those of Type=oneshot, not of Type=simple\n",
		"unpacking tarball file",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in the log:\n%s", want, log)
		}
	}
	for _, check := range []struct{ script, want string }{
		{"stat -c '%a %U' /etc/rancher/rke2/config.yaml", "600 root"},
		{"systemctl is-active install later; systemctl is-enabled install rke2-agent chronyd 2>/dev/null", "active\ninactive\nenabled\nmasked"},
		{"journalctl -u rke2-server.service -n 1", "stub started: server mode ignited"},
		{"journalctl -u install.service | grep -c 'unpacking tarball'", "1"},
		{"systemctl restart install && wc -l </etc/runs", "1"},
		{"grep -c 'install.service is skipped because of its ConditionPathExists=!/etc/done' /var/log/cloud-init-output.log", "1"},
		{"rm /etc/done && systemctl restart install && wc -l </etc/runs", "2"},
		{"ls /var/lib/cloud/instance/user-data.txt 2>&1 | grep -c 'No such'", "1"},
	} {
		if got := shell(t, m, "m1", check.script); got != check.want {
			t.Errorf("%s: got %q, want %q", check.script, got, check.want)
		}
	}
}

func TestFailuresWithIgnitionAreTold(t *testing.T) {
	m := newManager(t)
	failing := "mkdir -p /run/cluster-api && echo why >/run/cluster-api/bootstrap-failure; [ -e /etc/mended ] || exit 7\nrm /run/cluster-api/*\n" + succeed
	info := bootWith(t, m, "m1", Ignition, ignited(t, failing))
	if want := "install.service: exit status 7 (output in /var/log/cloud-init-output.log)"; info.Boot.State != guest.BootFailed || info.Boot.Message != want {
		t.Errorf("boot: %+v, want %q", info.Boot, want)
	}
	want := guest.BootstrapResult{State: guest.BootFailed, Message: "why"}
	await(t, m, "m1", func(i Info) bool { return i.Bootstrap == want })
	if got := shell(t, m, "m1", "systemctl is-active install"); got != "failed" {
		t.Errorf("after the failure: %q", got)
	}
	if got := shell(t, m, "m1", "touch /etc/mended; systemctl start install; systemctl is-active install"); got != "active" {
		t.Errorf("when it is mended: %q", got)
	}
	await(t, m, "m1", func(i Info) bool { return i.Bootstrap.State == guest.BootSucceeded })

	info = bootWith(t, m, "m2", Ignition, "#cloud-config\n")
	if info.Boot.State != guest.BootFailed || !strings.Contains(info.Boot.Message, "not a valid Ignition config") {
		t.Errorf("boot: %+v", info.Boot)
	}
}
