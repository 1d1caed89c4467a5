package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/drover-project/drover/lab/internal/pid1"
)

// initMain is the first process of the sandbox: args are the program to run and
// its arguments.
func initMain(args []string) int {
	code, err := runInside(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab sandbox:", err)
		return 1
	}
	return code
}

func runInside(args []string) (int, error) {
	if len(args) == 0 || os.Getpid() != 1 {
		return 0, errors.New(initApplet + " is started by the lab itself, as the first process of new namespaces")
	}
	if err := setUp(); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return pid1.Run(cmd)
}

// setUp makes the new namespaces usable: mounts stay private, /proc shows the
// sandbox's processes, and 127.0.0.1 answers.
func setUp() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return loopbackUp()
}

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find loopback interface: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("bring loopback interface up: %w", err)
	}
	return nil
}
