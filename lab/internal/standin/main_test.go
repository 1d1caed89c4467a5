package standin

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/drover-project/drover/lab/internal/cri"
	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/sandbox"
)

// insideVariable marks the run of the tests that happens inside a sandbox.
const insideVariable = "LAB_TEST_INSIDE"

// TestMain runs the tests inside a sandbox, where machines can be booted. The
// test binary also stands in for the lab binary: it answers to the applets' names.
func TestMain(m *testing.M) {
	if applet, args := appletOf(os.Args); applet != nil {
		os.Exit(applet(args))
	}
	if os.Getenv(insideVariable) != "" {
		os.Exit(m.Run())
	}
	code, err := runInSandbox()
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		code = 1
	}
	os.Exit(code)
}

func appletOf(argv []string) (applet func([]string) int, args []string) {
	applets := map[string]func([]string) int{"rke2": Main, cri.Applet: cri.Main}
	maps.Copy(applets, guest.Applets)
	maps.Copy(applets, sandbox.Applets)
	if applet, ok := applets[filepath.Base(argv[0])]; ok {
		return applet, argv[1:]
	}
	if len(argv) > 1 {
		return applets[argv[1]], argv[2:]
	}
	return nil, nil
}

func runInSandbox() (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "lab-check-")
	if err != nil {
		return 0, err
	}
	problems := sandbox.Check(dir)
	if err := os.RemoveAll(dir); err != nil {
		return 0, err
	}
	if len(problems) > 0 {
		fmt.Fprintln(os.Stderr, "SKIP: no lab machine can run on this computer:", problems)
		return 0, nil
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
	return cmd.ProcessState.ExitCode(), nil
}
