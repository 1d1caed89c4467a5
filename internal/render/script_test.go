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
cat >"$2" <<'X'
#!/bin/sh
echo "install $INSTALL_RKE2_TYPE $INSTALL_RKE2_VERSION${HTTPS_PROXY:+ via $HTTPS_PROXY}" >>"$CALLS"
env | sed -n 's/^INSTALL_RKE2_\(ARTIFACT_URL\|CHANNEL_URL\|METHOD\)=/with &/p' | sort >>"$CALLS"
: >"$CALLS.installed"
X`,
		"systemctl":  `[ "$1" = cat ] || echo "systemctl $*" >>"$CALLS"`,
		"journalctl": `echo "the journal of $2"`,
		"sleep":      `echo "sleep $1" >>"$CALLS"`,
		"useradd":    `echo "useradd $*" >>"$CALLS"`,
		"sysctl":     `echo "sysctl $*" >>"$CALLS"`,
		"id":         `exit 1`,
		"kubectl":    `echo "kubectl $*" >>"$CALLS"; case $* in *whoami*) echo system:node:worker-1 ;; esac`,
		"rke2":       `[ -e "$CALLS.installed" ] || exit 127; echo "rke2 version v1.36.3+rke2r1 (0123abc)"; echo "go version go1.26"`,
	}
}

// scriptCase is one run of a script.
type scriptCase struct {
	// change edits the input; stub replaces programs.
	change func(*Input)
	stub   map[string]string
	// withoutInstaller takes the install script off the machine image.
	withoutInstaller bool

	code int
	// calls are the noted calls; not compared when nil.
	calls []string
	// sentinel is whether the sentinel has to be there, and failure what the failure file has to hold.
	sentinel bool
	failure  []string
}

func TestScript(t *testing.T) {
	for name, shell := range shells(t) {
		for _, cases := range []map[string]scriptCase{scriptCases, installCases} {
			for title, c := range cases {
				t.Run(name+"/"+title, func(t *testing.T) {
					t.Parallel()
					c.check(t, shell)
				})
			}
		}
	}
}

// shells returns the shells to run scripts under.
func shells(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range []string{"dash", "bash"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Logf("NOT TESTED under %s: %v", name, err)
			continue
		}
		found[name] = path
	}
	if len(found) == 0 {
		t.Fatal("neither dash nor bash is installed; the script has to run under one of them")
	}
	return found
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
	c.compare(t, runScript(t, shell, script(&in), programs, c.withoutInstaller))
}

// compare tells whether a run left what it should have.
func (c scriptCase) compare(t *testing.T, got scriptResult) {
	t.Helper()
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
mount -t tmpfs none /run
mount -t tmpfs none /etc/sysctl.d
mount -t tmpfs none /usr/local/share
mkdir /usr/local/share/rke2
: >/usr/local/share/rke2/rke2-cis-sysctl.conf
mount -t tmpfs none /opt
mkdir /opt/rke2-artifacts
echo 'checksums' >/opt/rke2-artifacts/sha256sum-amd64.txt
printf 'echo "image $INSTALL_RKE2_TYPE $INSTALL_RKE2_ARTIFACT_PATH" >>"$CALLS"; : >"$CALLS.installed"\n' >/opt/install.sh
[ -z "$WITHOUT_INSTALLER" ] || rm /opt/install.sh
mkdir -p /opt/data/bin
ln -s "$STUBS/kubectl" /opt/data/bin/kubectl
mount --bind "$TEST_SHELL" /bin/sh
code=0
PATH="$STUBS:$PATH" /bin/sh "$SCRIPT" || code=$?
cp -r /run/cluster-api "$LEFT"
exit "$code"
`

func runScript(t *testing.T, shell, text string, programs map[string]string, withoutInstaller bool) scriptResult {
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
	installer := ""
	if withoutInstaller {
		installer = "no"
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(args, "/bin/sh", "-c", scriptSandbox)...)
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "CALLS="+calls, "LEFT="+left, "STUBS="+filepath.Join(dir, "stubs"),
		"TEST_SHELL="+shell, "SCRIPT="+write("bootstrap.sh", text, 0o700), "HTTPS_PROXY=",
		"WITHOUT_INSTALLER="+installer)
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
