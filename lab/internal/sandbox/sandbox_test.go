package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startApplet starts a sandbox that dies with its parent and then waits for
// the end of its standard input.
const startApplet = "test-start"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if applet, ok := Applets[os.Args[1]]; ok {
			os.Exit(applet(os.Args[2:]))
		}
		if os.Args[1] == startApplet {
			os.Exit(startMain())
		}
	}
	os.Exit(m.Run())
}

// sleeper prints the sandbox's pid namespace once it has children of its own.
func sleeper() *exec.Cmd {
	return exec.Command("/bin/sh", "-c", "sleep 1000 & sleep 1000 & readlink /proc/self/ns/pid; wait")
}

func startMain() int {
	cmd := sleeper()
	cmd.Stdout = os.Stdout
	if _, err := Start(cmd, true); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	return 0
}

func requireSandbox(t *testing.T) {
	t.Helper()
	if problems := Check(t.TempDir()); len(problems) > 0 {
		t.Skipf("no sandbox on this computer: %v", problems)
	}
}

func run(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	wait, err := Start(cmd, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	return strings.TrimSpace(out.String())
}

func TestInside(t *testing.T) {
	requireSandbox(t)
	for _, test := range []struct{ name, script, want string }{
		{"is root", "id -u", "0"},
		{"sees only init and itself", "set -- /proc/[0-9]*; echo $#", "2"},
		{"has only lo", "ls /proc/sys/net/ipv4/conf", "all\ndefault\nlo"},
		{"lo is up", "grep -o 127.0.0.1 /proc/net/fib_trie | sort -u", "127.0.0.1"},
		{"mounts stay inside", "mount -t tmpfs none /mnt && touch /mnt/inside && ls /mnt", "inside"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := run(t, test.script); got != test.want {
				t.Errorf("%s: got %q, want %q", test.script, got, test.want)
			}
		})
	}
	if _, err := os.Stat("/mnt/inside"); err == nil {
		t.Error("a mount of the sandbox shows outside of it")
	}
}

func TestExitCode(t *testing.T) {
	requireSandbox(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137} {
		cmd := exec.Command("/bin/sh", "-c", script)
		wait, err := Start(cmd, true)
		if err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := wait(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit code %d, want %d", script, got, want)
		}
	}
}

// members lists the processes in a pid namespace.
func members(t *testing.T, namespace string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == namespace {
			found = append(found, link)
		}
	}
	return found
}

// awaitEmpty waits until a pid namespace has no process left.
func awaitEmpty(t *testing.T, namespace string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); len(members(t, namespace)) > 0; {
		if time.Now().After(end) {
			t.Fatalf("processes left: %v", members(t, namespace))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// readNamespace reads the line that sleeper prints.
func readNamespace(t *testing.T, out *os.File) string {
	t.Helper()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	namespace := strings.TrimSpace(line)
	// init, sh and the two it sleeps with
	if got := len(members(t, namespace)); got < 4 {
		t.Fatalf("%d processes in the sandbox %s, want at least 4", got, namespace)
	}
	return namespace
}

func TestKillEndsEverything(t *testing.T) {
	requireSandbox(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := sleeper()
	cmd.Stdout = in
	wait, err := Start(cmd, false)
	if err != nil {
		t.Fatal(err)
	}
	namespace := readNamespace(t, out)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err == nil {
		t.Error("a killed sandbox must not seem to have ended well")
	}
	if left := members(t, namespace); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

func TestTerminateReachesTheProgram(t *testing.T) {
	requireSandbox(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.1; done")
	cmd.Stdout = in
	wait, err := Start(cmd, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err == nil || cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("ended with %v", err)
	}
}

func TestDeathOfTheParentEndsEverything(t *testing.T) {
	requireSandbox(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	hold, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = release.Close() }()
	parent := exec.Command(self, startApplet)
	parent.Stdin, parent.Stdout, parent.Stderr = hold, in, os.Stderr
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	namespace := readNamespace(t, out)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	awaitEmpty(t, namespace)
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	requireSandbox(t)
	for _, test := range []struct{ dir, want string }{
		{filepath.Join(t.TempDir(), "missing"), "the run folder is not writable"},
		{mustMkdir(t, "a,b"), "overlay options cannot express"},
	} {
		problems := Check(test.dir)
		if len(problems) == 0 || !strings.Contains(problems[0].String(), test.want) {
			t.Errorf("%s: %v, want %q", test.dir, problems, test.want)
		}
	}
}

func mustMkdir(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
