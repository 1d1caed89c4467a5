package render

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The script runs for real, under each shell, with the programs it calls replaced and with /run, /opt, /etc/sysctl.d
// and /usr/local/share of its own.

// stubs are the replaced programs as they are when nothing fails. Each notes that it was called.
func stubs() map[string]string {
	return map[string]string{
		"curl": `while [ "$1" != -o ]; do shift; done
echo "curl $3" >>"$CALLS"
printf '#!/bin/sh\necho "install $INSTALL_RKE2_TYPE $INSTALL_RKE2_VERSION${HTTPS_PROXY:+ via $HTTPS_PROXY}" >>"$CALLS"\n' >"$2"`,
		"systemctl":  `echo "systemctl $*" >>"$CALLS"`,
		"journalctl": `echo "the journal of $2"`,
		"sleep":      `echo "sleep $1" >>"$CALLS"`,
		"useradd":    `echo "useradd $*" >>"$CALLS"`,
		"sysctl":     `echo "sysctl $*" >>"$CALLS"`,
		"id":         `exit 1`,
		"rke2":       `echo "rke2 version v1.36.3+rke2r1 (0123abc)"; echo "go version go1.26"`,
	}
}

// scriptCase is one run of a script.
type scriptCase struct {
	// change edits the input; stub replaces programs.
	change func(*Input)
	stub   map[string]string

	code int
	// calls are the noted calls; not compared when nil.
	calls []string
	// sentinel is whether the sentinel has to be there, and failure what the failure file has to hold.
	sentinel bool
	failure  []string
}

const goodInstall = "install server v1.36.3+rke2r1"

var scriptCases = map[string]scriptCase{
	"server": {
		sentinel: true,
		calls: []string{
			"curl https://get.rke2.io", goodInstall, "systemctl mask rke2-agent.service", "systemctl daemon-reload",
			"systemctl enable rke2-server.service", "systemctl start rke2-server.service",
		},
	},
	"worker": {
		change:   func(in *Input) { *in = worker() },
		sentinel: true,
		calls: []string{
			"curl https://get.rke2.io", "install agent v1.36.3+rke2r1", "systemctl mask rke2-server.service",
			"systemctl daemon-reload", "systemctl enable rke2-agent.service", "systemctl start rke2-agent.service",
		},
	},
	"users' commands": {
		change: func(in *Input) {
			in.Config.PreRKE2Commands = []string{
				"export HTTPS_PROXY=http://proxy", `echo "pre $NOT_SET" >>"$CALLS"; \`, "set +e", "false",
				"cat >>\"$CALLS\" <<'X'\n  here $document\nX",
			}
			in.Config.PostRKE2Commands = []string{`echo "post $(cat /run/cluster-api/bootstrap-success.complete)" >>"$CALLS"`}
		},
		sentinel: true,
		calls: []string{
			"pre ", "  here $document", "curl https://get.rke2.io", goodInstall + " via http://proxy",
			"systemctl mask rke2-agent.service", "systemctl daemon-reload", "systemctl enable rke2-server.service",
			"systemctl start rke2-server.service", "post success",
		},
	},
	"mask fails": {
		stub:     map[string]string{"systemctl": `[ "$1" != mask ]`},
		sentinel: true,
	},
	"download fails": {
		stub:    map[string]string{"curl": `echo no route >&2; exit 22`},
		code:    22,
		calls:   slices.Repeat([]string{"sleep 10"}, 9),
		failure: []string{"step: download the RKE2 install script\nexit code: 22\n", "no route\n"},
	},
	"download is no script": {
		stub:    map[string]string{"curl": `while [ "$1" != -o ]; do shift; done; echo '<html>' >"$2"`},
		code:    1,
		failure: []string{"https://get.rke2.io did not answer with a script\n"},
	},
	"install fails": {
		stub:    map[string]string{"curl": `while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\nexit 7' >"$2"`},
		code:    7,
		calls:   []string{"sleep 10", "sleep 10"},
		failure: []string{"step: install RKE2 v1.36.3+rke2r1\nexit code: 7\n"},
	},
	"install fails once": {
		stub: map[string]string{"curl": `while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\n[ -e "$0.2" ] || { touch "$0.2"; exit 7; }' >"$2"`},
		sentinel: true,
	},
	"enable fails": {
		stub:    map[string]string{"systemctl": `[ "$1" != enable ] || { echo unit not found; exit 5; }`},
		code:    5,
		failure: []string{"step: enable rke2-server.service\nexit code: 5\n", "unit not found\n"},
	},
	"start fails": {
		stub:    map[string]string{"systemctl": `[ "$1" != start ] || exit 3`},
		code:    3,
		calls:   append([]string{"curl https://get.rke2.io", goodInstall}, slices.Repeat([]string{"sleep 5"}, 59)...),
		failure: []string{"step: start rke2-server.service\nexit code: 3\n", "the journal of rke2-server.service\n"},
	},
	"start fails at first": {
		stub:     map[string]string{"systemctl": `[ "$1" != start ] || [ -e "$CALLS.2" ] || { touch "$CALLS.2"; exit 3; }`},
		sentinel: true,
		calls:    []string{"curl https://get.rke2.io", goodInstall, "sleep 5"},
	},
	"a pre-command fails": {
		change:  func(in *Input) { in.Config.PreRKE2Commands = []string{"true", "echo why; (exit 4)"} },
		code:    4,
		calls:   []string{},
		failure: []string{"step: preRKE2Commands[1]\nexit code: 4\n", "why\n"},
	},
	"a pre-command exits": {
		change:  func(in *Input) { in.Config.PreRKE2Commands = []string{"exit 0"} },
		code:    1,
		calls:   []string{},
		failure: []string{"step: preRKE2Commands[0]\nexit code: 0\nthe step ended the script before all steps were done\n"},
	},
	"a pre-command is no shell": {
		change:  func(in *Input) { in.Config.PreRKE2Commands = []string{"echo 'unterminated"} },
		code:    2,
		calls:   []string{},
		failure: []string{"step: preRKE2Commands[0]\nexit code: 2\n"},
	},
	"a post-command fails": {
		change:   func(in *Input) { in.Config.PostRKE2Commands = []string{"(exit 9)"} },
		code:     9,
		sentinel: true,
		failure:  []string{"step: postRKE2Commands[0]\nexit code: 9\n"},
	},
	"CIS": {
		change:   func(in *Input) { in.Config.AgentConfig.CISProfile = "cis" },
		sentinel: true,
		calls: []string{
			"curl https://get.rke2.io", goodInstall,
			"useradd --system --user-group --no-create-home --shell /sbin/nologin --comment etcd user etcd",
			"sysctl -p /etc/sysctl.d/60-rke2-cis.conf",
			"systemctl mask rke2-agent.service", "systemctl daemon-reload", "systemctl enable rke2-server.service",
			"systemctl start rke2-server.service",
		},
	},
	"air-gapped": {
		change: func(in *Input) {
			in.Config.AgentConfig.AirGapped = true
			in.Config.AgentConfig.AirGappedChecksum = strings.ToUpper(fixtureChecksum)
		},
		sentinel: true,
		calls: []string{
			"image server /opt/rke2-artifacts", "systemctl mask rke2-agent.service", "systemctl daemon-reload",
			"systemctl enable rke2-server.service", "systemctl start rke2-server.service",
		},
	},
	"air-gapped, wrong checksum": {
		change: func(in *Input) {
			in.Config.AgentConfig.AirGapped = true
			in.Config.AgentConfig.AirGappedChecksum = strings.Repeat("0", 64)
		},
		code:    1,
		calls:   []string{},
		failure: []string{"step: check the checksum of the artifacts\n"},
	},
	"air-gapped, wrong release": {
		change:  func(in *Input) { in.Config.AgentConfig.AirGapped = true },
		stub:    map[string]string{"rke2": `echo "rke2 version v1.30.0+rke2r1 (0123abc)"`},
		code:    1,
		calls:   []string{"image server /opt/rke2-artifacts"},
		failure: []string{"the artifacts of the machine image are of RKE2 v1.30.0+rke2r1, not v1.36.3+rke2r1\n"},
	},
}

// fixtureChecksum is the checksum of the checksum file runScript puts into /opt/rke2-artifacts.
const fixtureChecksum = "783eab0dd53c78e1193bf3fe266e51c08e8111f9bb44ac42e8ce0e6a3378903c"

func TestScript(t *testing.T) {
	found := false
	for _, name := range []string{"dash", "bash"} {
		shell, err := exec.LookPath(name)
		if err != nil {
			t.Logf("NOT TESTED under %s: %v", name, err)
			continue
		}
		found = true
		for title, c := range scriptCases {
			t.Run(name+"/"+title, func(t *testing.T) {
				t.Parallel()
				c.check(t, shell)
			})
		}
	}
	if !found {
		t.Fatal("neither dash nor bash is installed; the script has to run under one of them")
	}
}

func (c scriptCase) check(t *testing.T, shell string) {
	in := firstServer()
	if c.change != nil {
		c.change(&in)
	}
	programs := stubs()
	for name, text := range c.stub {
		programs[name] = text
	}
	got := runScript(t, shell, script(&in), programs)
	if got.code != c.code {
		t.Errorf("exit code %d, want %d", got.code, c.code)
	}
	if (got.sentinel == "success\n") != c.sentinel || !c.sentinel && got.sentinel != "" {
		t.Errorf("sentinel: %q, wanted: %v", got.sentinel, c.sentinel)
	}
	if c.calls != nil && !slices.Equal(got.calls, c.calls) {
		t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got.calls, "\n"), strings.Join(c.calls, "\n"))
	}
	if len(c.failure) == 0 && got.failure != "" {
		t.Errorf("failure file:\n%s", got.failure)
	}
	for _, want := range c.failure {
		if !strings.Contains(got.failure, want) {
			t.Errorf("failure file:\n%s\nwant in it:\n%s", got.failure, want)
		}
	}
	if t.Failed() {
		t.Logf("output:\n%s", got.output)
	}
}

// scriptResult is what a run of a script left behind.
type scriptResult struct {
	code                      int
	output, sentinel, failure string
	calls                     []string
}

// scriptSandbox runs the script with folders of its own in a mount namespace, and keeps what it left in /run.
const scriptSandbox = `set -eu
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /etc/sysctl.d
mount -t tmpfs tmpfs /usr/local/share
mkdir /usr/local/share/rke2
: >/usr/local/share/rke2/rke2-cis-sysctl.conf
mount -t tmpfs tmpfs /opt
mkdir /opt/rke2-artifacts
echo 'checksums' >/opt/rke2-artifacts/sha256sum-amd64.txt
printf 'echo "image $INSTALL_RKE2_TYPE $INSTALL_RKE2_ARTIFACT_PATH" >>"$CALLS"\n' >/opt/install.sh
mount --bind "$TEST_SHELL" /bin/sh
code=0
PATH="$STUBS:$PATH" /bin/sh "$SCRIPT" || code=$?
cp -r /run/cluster-api "$LEFT"
exit "$code"
`

func runScript(t *testing.T, shell, text string, programs map[string]string) scriptResult {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, content := range programs {
		write("stubs/"+name, "#!/bin/sh\n"+content+"\n", 0o755)
	}
	calls, left := write("calls", "", 0o644), filepath.Join(dir, "left")

	args := []string{"--mount"}
	if os.Getuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(args, "/bin/sh", "-c", scriptSandbox)...)
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "CALLS="+calls, "LEFT="+left, "STUBS="+filepath.Join(dir, "stubs"),
		"TEST_SHELL="+shell, "SCRIPT="+write("bootstrap.sh", text, 0o700), "HTTPS_PROXY=")
	output, err := cmd.CombinedOutput()
	result := scriptResult{output: string(output)}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		result.code = exit.ExitCode()
	case err != nil:
		t.Fatalf("run the script in a mount namespace: %v", err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Fatalf("the sandbox did not come to its end: %v\n%s", err, output)
	}
	read := func(path string) string {
		content, err := os.ReadFile(filepath.Join(left, filepath.Base(path)))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(content)
	}
	result.sentinel, result.failure = read(SentinelPath), read(FailurePath)
	noted, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(noted) {
		result.calls = append(result.calls, strings.TrimSuffix(string(line), "\n"))
	}
	if result.calls == nil {
		result.calls = []string{}
	}
	return result
}
