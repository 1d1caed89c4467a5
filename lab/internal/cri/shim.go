package cri

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// shimCommand is the one argument with which Main becomes a container's command
// instead of serving: as the shim, it first makes the command's surroundings.
const shimCommand = "shim"

// What the shim is started with beside its standard streams.
const (
	shimLaunchFD = 3 // where it reads its launch
	shimStatusFD = 4 // where it writes why it failed
	shimMountsFD = 5 // the mount namespace to join
)

// shimMain returns only when it failed.
func shimMain() int {
	for _, fd := range []int{shimLaunchFD, shimStatusFD, shimMountsFD} {
		syscall.CloseOnExec(fd)
	}
	order, status := os.NewFile(shimLaunchFD, "launch"), os.NewFile(shimStatusFD, "status")
	if err := become(order); err != nil {
		_, _ = fmt.Fprint(status, err)
	}
	return 127
}

// become replaces this program by the command that the order describes.
func become(order *os.File) error {
	var what launch
	if err := json.NewDecoder(order).Decode(&what); err != nil {
		return fmt.Errorf("the shim is started by the runtime itself: %w", err)
	}
	// The namespace below is this thread's, and so must the command be.
	runtime.LockOSThread()
	if err := what.makeMounts(); err != nil {
		return err
	}
	if err := os.Chdir(what.Dir); err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	path, err := find(what.Argv[0], what.Env)
	if err != nil {
		return err
	}
	if what.User != nil {
		if err := what.User.become(); err != nil {
			return err
		}
	}
	if file := syncDelayOf(what.Env); file != "" {
		if err := delaySyncs(file); err != nil {
			return err
		}
	}
	if err := syscall.Exec(path, what.Argv, what.Env); err != nil {
		return fmt.Errorf("run %s: %w", path, err)
	}
	return nil
}

// makeMounts gives this thread the view of the file system that the order describes.
func (l launch) makeMounts() error {
	if l.Join {
		return joinMounts()
	}
	if l.Root != nil {
		return l.Root.enter(l.Mounts)
	}
	for _, m := range l.Mounts {
		if err := m.mount(); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.Source, m.Target, err)
		}
	}
	return nil
}

// joinMounts enters another container's mount namespace. The kernel allows that
// only to a thread which shares its root and working directory with no other.
func joinMounts() error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave own working directory: %w", err)
	}
	if err := unix.Setns(shimMountsFD, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the container's mount namespace: %w", err)
	}
	return nil
}

// find looks the program up in the PATH of its own environment, of which the
// last entry counts.
func find(name string, env []string) (string, error) {
	for _, entry := range env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			if err := os.Setenv("PATH", path); err != nil {
				return "", fmt.Errorf("set PATH: %w", err)
			}
		}
	}
	return exec.LookPath(name)
}
