package cri

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch tells the shim what to become. It travels as JSON.
type launch struct {
	Argv   []string `json:"argv"`
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	Mounts []mount  `json:"mounts,omitempty"`
	// Root is set for a file system of the container's own.
	Root *root `json:"root,omitempty"`
	// User is set for another user than the machine's root.
	User *user `json:"user,omitempty"`
	// Join says that shimMountsFD is a mount namespace to enter, which has the
	// mounts already.
	Join bool `json:"join,omitempty"`

	// namespace is the one to join.
	namespace *os.File
}

// start runs the shim, and returns once it has become the command; adjust may
// complete the exec.Cmd before. The process leads a new process group, unless
// adjust makes it lead a session. When ctx ends, the whole group is killed.
//
// The kernel kills the process when the thread that started it ends, so that
// none is left when the server dies. The calling goroutine must therefore be
// locked to its thread until the process has ended.
func (l launch) start(ctx context.Context, adjust func(*exec.Cmd)) (*exec.Cmd, error) {
	if len(l.Argv) == 0 {
		return nil, errors.New("no command given")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own program file: %w", err)
	}
	order, err := l.file()
	if err != nil {
		return nil, err
	}
	defer func() { _ = order.Close() }()
	answer, status, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe to the shim: %w", err)
	}
	defer func() { _ = answer.Close() }()

	cmd := exec.CommandContext(ctx, self, Applet, shimCommand)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if l.ownMounts() && !l.Join {
		// With this flag the new namespace's mounts become private, too.
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.ExtraFiles = []*os.File{order, status}
	if l.Join {
		cmd.ExtraFiles = append(cmd.ExtraFiles, l.namespace)
	}
	adjust(cmd)
	err = cmd.Start()
	_ = status.Close()
	if err != nil {
		return nil, err
	}
	// The shim's end of the pipe closes without a word when it succeeds.
	if failure, _ := io.ReadAll(answer); len(failure) > 0 {
		_ = cmd.Wait()
		return nil, errors.New(string(failure))
	}
	return cmd, nil
}

// ownMounts tells whether the command sees other mounts than the machine.
func (l launch) ownMounts() bool { return len(l.Mounts) > 0 || l.Root != nil }

// file puts the order into memory: a pipe could fill up before the shim reads it.
func (l launch) file() (*os.File, error) {
	fd, err := unix.MemfdCreate("launch", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make order for the shim: %w", err)
	}
	file := os.NewFile(uintptr(fd), "launch")
	err = json.NewEncoder(file).Encode(l)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write order for the shim: %w", err), file.Close())
	}
	return file, nil
}

// openMounts opens the mount namespace of a process.
func openMounts(pid int) (*os.File, error) {
	file, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/mnt")
	if err != nil {
		return nil, fmt.Errorf("open mount namespace of process %d: %w", pid, err)
	}
	return file, nil
}
