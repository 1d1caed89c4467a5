package render

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// The machines here are folders: they get the files of a config where Ignition would put them, and each boot does
// with the unit what systemd would do, inside the folder and with the programs of the script tests.

// ignitedMachine is a machine whose root is a folder.
type ignitedMachine struct {
	root, shell string
}

// ignite makes a machine from bootstrap data.
func ignite(t *testing.T, shell string, data []byte, programs map[string]string) ignitedMachine {
	t.Helper()
	m := ignitedMachine{root: t.TempDir(), shell: shell}
	config := parseIgnition(t, data)
	for _, f := range config.Storage.Files {
		m.write(t, f.Path, contentOf(t, &f.Contents), os.FileMode(ptr.Deref(f.Mode, 0o644)))
	}
	for _, unit := range config.Systemd.Units {
		if unit.Contents != nil {
			m.write(t, filepath.Join(unitDir, unit.Name), []byte(*unit.Contents), 0o644)
		}
	}
	m.furnish(t, programs)
	return m
}

// furnish gives the machine the programs, and what a machine image may have.
func (m ignitedMachine) furnish(t *testing.T, programs map[string]string) {
	t.Helper()
	m.install(t, programs)
	m.write(t, "/opt/rke2-artifacts/sha256sum-amd64.txt", []byte("checksums\n"), 0o644)
	m.write(t, "/opt/install.sh", []byte(`echo "image $INSTALL_RKE2_TYPE $INSTALL_RKE2_ARTIFACT_PATH" >>"$CALLS"; : >"$CALLS.installed"`+"\n"), 0o644)
	m.write(t, "/opt/data/bin/kubectl", []byte("#!/bin/sh\nexec /stubs/kubectl \"$@\"\n"), 0o755)
}

// install replaces programs of the machine.
func (m ignitedMachine) install(t *testing.T, programs map[string]string) {
	t.Helper()
	for name, content := range programs {
		m.write(t, "/stubs/"+name, []byte("#!/bin/sh\n"+content+"\n"), 0o755)
	}
}

func (m ignitedMachine) write(t *testing.T, path string, content []byte, mode os.FileMode) {
	t.Helper()
	path = filepath.Join(m.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func (m ignitedMachine) read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(m.root, path))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(content)
}

// ignitedBoot gives the machine's folder what it shares with the host, and runs the command in it.
const ignitedBoot = `set -eu
cd "$ROOT"
mkdir -p dev proc run tmp usr etc/sysctl.d
rm -rf run/* calls
: >calls
mount --rbind /usr usr
for name in bin sbin lib lib64; do
  if [ -L "/$name" ]; then
    [ -L "$name" ] || cp -P "/$name" "$name"
  elif [ -d "/$name" ]; then
    mkdir -p "$name"
    mount --rbind "/$name" "$name"
  fi
done
mount --rbind /dev dev
mount --rbind /proc proc
mount -t tmpfs none usr/local/share
mkdir usr/local/share/rke2
: >usr/local/share/rke2/rke2-cis-sysctl.conf
mount --bind "$TEST_SHELL" ".$(readlink -f /bin/sh)"
exec chroot . /usr/bin/env -i CALLS=/calls \
  PATH=/stubs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $COMMAND
`

// boot starts the machine. It returns false when the unit's condition leaves the script alone.
func (m ignitedMachine) boot(t *testing.T) (scriptResult, bool) {
	t.Helper()
	unit := m.read(t, filepath.Join(unitDir, unitName))
	absent, ok := strings.CutPrefix(unitValue(unit, "ConditionPathExists"), "!")
	if !ok {
		t.Fatalf("no condition:\n%s", unit)
	}
	if m.read(t, absent) != "" {
		return scriptResult{}, false
	}
	args := []string{"--mount"}
	if os.Getuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(args, "/bin/sh", "-c", ignitedBoot)...)
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "ROOT="+m.root, "TEST_SHELL="+m.shell, "COMMAND="+unitValue(unit, "ExecStart"))
	output, err := cmd.CombinedOutput()
	result := scriptResult{output: string(output), sentinel: m.read(t, SentinelPath), failure: m.read(t, FailurePath)}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		result.code = exit.ExitCode()
	case err != nil:
		t.Fatalf("boot: %v", err)
	}
	result.calls = strings.Split(strings.TrimSuffix(m.read(t, "/calls"), "\n"), "\n")
	if result.calls[0] == "" {
		result.calls = []string{}
	}
	return result, true
}

// unitValue returns a setting of a unit, which may stand there only once.
func unitValue(unit, key string) string {
	var values []string
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(line, key+"="); ok {
			values = append(values, strings.TrimSuffix(value, "\n"))
		}
	}
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

// TestIgnitionBoot has every case of the script's tests come out the same from bootstrap data for Ignition. The next
// boot runs the script again exactly where there is no sentinel.
func TestIgnitionBoot(t *testing.T) {
	for name, shell := range shells(t) {
		for title, c := range scriptCases {
			t.Run(name+"/"+title, func(t *testing.T) {
				t.Parallel()
				in := firstServer()
				if c.change != nil {
					c.change(&in)
				}
				programs := stubs()
				maps.Copy(programs, c.stub)
				m := ignite(t, shell, mustBootstrap(t, ignited(in)), programs)
				got, ran := m.boot(t)
				if !ran {
					t.Fatal("the first boot did not run the script")
				}
				c.compare(t, got)
				if _, again := m.boot(t); again == c.sentinel {
					t.Errorf("the second boot ran the script: %v", again)
				}
			})
		}
	}
}

// TestIgnitionBootAfterFailure mends what made the first boot fail.
func TestIgnitionBootAfterFailure(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			programs := stubs()
			programs["systemctl"] = `[ "$1" != enable ] || exit 5`
			in := ignited(worker())
			in.Config.Files = []bootstrapv1.File{{Path: "/etc/motd", Permissions: "0600", Content: "  {{ hello }}\r\n"}}
			m := ignite(t, shell, mustBootstrap(t, in), programs)
			got, _ := m.boot(t)
			if got.code != 5 || got.sentinel != "" || !strings.HasPrefix(got.failure, "step: enable rke2-agent.service\n") {
				t.Errorf("first boot: %+v", got)
			}
			if !strings.Contains(got.output, "bootstrap: failed in step: enable rke2-agent.service (exit code 5)\n") {
				t.Errorf("the console was not told:\n%s", got.output)
			}
			if got := m.read(t, "/etc/motd"); got != "  {{ hello }}\r\n" {
				t.Errorf("/etc/motd: %q", got)
			}
			m.install(t, stubs())
			got, ran := m.boot(t)
			if !ran || got.code != 0 || got.sentinel != "success\n" || got.failure != "" {
				t.Errorf("second boot: %v %+v", ran, got)
			}
			if !slices.Contains(got.calls, "systemctl mask rke2-server.service") {
				t.Errorf("calls: %q", got.calls)
			}
			if _, ran := m.boot(t); ran {
				t.Error("the third boot ran the script")
			}
		})
	}
}

// TestIgnitionRestartInCommand has a command after the bootstrap restart the machine, which ends the script.
func TestIgnitionRestartInCommand(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			in := ignited(worker())
			in.Config.PostRKE2Commands = []string{"kill -9 $PPID $$"}
			m := ignite(t, shell, mustBootstrap(t, in), stubs())
			if got, _ := m.boot(t); got.code == 0 || got.sentinel != "success\n" {
				t.Errorf("%+v", got)
			}
			if _, ran := m.boot(t); ran {
				t.Error("the machine would restart for ever")
			}
		})
	}
}

// TestIgnitionUnit has systemd read the unit, where there is a systemd.
func TestIgnitionUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skipf("NOT TESTED with systemd-analyze: %v", err)
	}
	unit := bootstrapUnit()
	path := filepath.Join(t.TempDir(), unit.Name)
	if err := os.WriteFile(path, []byte(*unit.Contents), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput()
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, unit.Name) {
			t.Errorf("%v: %s", err, line)
		}
	}
}
