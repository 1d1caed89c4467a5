package machine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/sandbox"
)

// insideVariable marks the run of the tests that happens inside a sandbox.
const insideVariable = "LAB_TEST_INSIDE"

// TestMain runs the tests inside a sandbox, and afterwards makes sure that the
// sandbox left nothing behind. The test binary also stands in for the lab
// binary: it answers to the applets' names.
func TestMain(m *testing.M) {
	if applet, args := appletOf(os.Args); applet != nil {
		os.Exit(applet(args))
	}
	if os.Getenv(insideVariable) != "" {
		code := m.Run()
		if testDir != "" {
			_ = os.RemoveAll(testDir)
		}
		os.Exit(code)
	}
	os.Exit(runInSandbox())
}

func appletOf(argv []string) (applet func([]string) int, args []string) {
	names := map[string]func([]string) int{"rke2": stubRKE2, siteStub: serveSite}
	for _, applets := range []map[string]func([]string) int{guest.Applets, sandbox.Applets} {
		for name, applet := range applets {
			names[name] = applet
		}
	}
	if applet, ok := names[filepath.Base(argv[0])]; ok {
		return applet, argv[1:]
	}
	if len(argv) > 1 {
		return names[argv[1]], argv[2:]
	}
	return nil, nil
}

// stubRKE2 is a service that notes its start, answers on port 9345 and says
// it is ready. With a file /etc/rke2-broken it ends at once.
func stubRKE2(args []string) int {
	fmt.Println("stub started:", strings.Join(args, " "), "mode", os.Getenv("STUB_MODE"))
	if _, err := os.Stat("/etc/rke2-broken"); err == nil {
		fmt.Println("stub is broken")
		return 3
	}
	listener, err := net.Listen("tcp", "0.0.0.0:9345")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	// A child that outlives the service, as containers outlive RKE2.
	if err := exec.Command("sleep", "12345").Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	notify, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if _, err := notify.Write([]byte("STATUS=up\nREADY=1")); err != nil {
		fmt.Println(err)
		return 1
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return 1
		}
		go func() {
			// Echo, until the other side is done.
			buffer := make([]byte, 64)
			for {
				n, err := conn.Read(buffer)
				if err != nil {
					_ = conn.Close()
					return
				}
				_, _ = conn.Write(buffer[:n])
			}
		}()
	}
}

// traces is what a sandbox could leave behind on the computer.
type traces struct {
	mounts     string
	interfaces []string
}

func lookForTraces() (traces, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return traces{}, err
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return traces{}, err
	}
	var names []string
	for _, i := range interfaces {
		names = append(names, i.Name)
	}
	return traces{string(mounts), names}, nil
}

// leftOver lists processes, other than this one, that run this test binary.
func leftOver(self string) ([]string, error) {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, link := range links {
		if exe, err := os.Readlink(link); err == nil && exe == self && filepath.Base(filepath.Dir(link)) != fmt.Sprint(os.Getpid()) {
			found = append(found, link)
		}
	}
	return found, nil
}

func runInSandbox() int {
	dir, err := os.MkdirTemp("", "lab-check-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	problems := sandbox.Check(dir)
	_ = os.RemoveAll(dir)
	if len(problems) > 0 {
		fmt.Fprintln(os.Stderr, "SKIP: no lab machine can run on this computer:")
		for _, problem := range problems {
			fmt.Fprintln(os.Stderr, " -", problem)
		}
		return 0
	}
	code, err := runAndCompare()
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		return 1
	}
	return code
}

func runAndCompare() (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	before, err := lookForTraces()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	wait, err := sandbox.Start(cmd, true)
	if err != nil {
		return 0, err
	}
	var exit *exec.ExitError
	if err := wait(); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	after, err := lookForTraces()
	if err != nil {
		return 0, err
	}
	processes, err := leftOver(self)
	if err != nil {
		return 0, err
	}
	if after.mounts != before.mounts || !slices.Equal(after.interfaces, before.interfaces) || len(processes) > 0 {
		return 0, fmt.Errorf("the sandbox left something behind: processes %v, interfaces %v (before: %v), mounts changed: %v",
			processes, after.interfaces, before.interfaces, after.mounts != before.mounts)
	}
	return cmd.ProcessState.ExitCode(), nil
}

// deadline bounds every wait of a test.
const deadline = 30 * time.Second
