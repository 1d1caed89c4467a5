// Package sandbox puts a process and all its descendants into namespaces of
// their own, so that the death of one process ends everything and nothing is
// left: no process, mount, network interface or named namespace. It needs no
// privileges: without them it adds a user namespace in which the caller is root.
package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	initApplet  = "sandbox-init"
	probeApplet = "sandbox-probe"
)

// Applets are the hidden commands of this package. The binary that calls Start
// or Check must run them when its first argument is their name, and exit with
// the code they return.
var Applets = map[string]func(args []string) int{
	initApplet:  initMain,
	probeApplet: probeMain,
}

// Start starts cmd, which must name its program by an absolute path, inside a
// new sandbox. The process cmd.Process is the sandbox's init: it passes SIGTERM
// and SIGINT on to the program and ends with its exit code; when it is killed,
// everything in the sandbox dies at once.
//
// When dieWithParent is set the kernel kills the sandbox as soon as the calling
// process is gone, however it ended. The wait function returned must be called
// instead of cmd.Wait.
func Start(cmd *exec.Cmd, dieWithParent bool) (wait func() error, err error) {
	if err := wrap(cmd, dieWithParent); err != nil {
		return nil, err
	}
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		// The kernel ties the parent-death signal to the thread that forked, and
		// Go ends idle threads: so one thread stays with the sandbox to its end.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- fmt.Errorf("start sandbox: %w", err)
			return
		}
		started <- nil
		ended <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return func() error { return <-ended }, nil
}

// wrap turns cmd into a run of the init applet in new namespaces.
func wrap(cmd *exec.Cmd, dieWithParent bool) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own executable: %w", err)
	}
	cmd.Args = append([]string{self, initApplet, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = self
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	namespaces(cmd.SysProcAttr)
	if dieWithParent {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	return nil
}

func namespaces(attr *syscall.SysProcAttr) {
	attr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC
	if Privileged() {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	// Without the help of setuid programs only one's own ids can be mapped.
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
}

// Privileged tells whether this process may create namespaces without a user
// namespace (capability CAP_SYS_ADMIN).
func Privileged() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// InUserNamespace tells whether this process lives in a user namespace that
// does not map every id, that is: whether files of unmapped owners exist which
// even its root cannot change. Overlay mounts then need the option userxattr.
func InUserNamespace() bool {
	data, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	var inside, outside, size int64
	if _, err := fmt.Sscan(string(data), &inside, &outside, &size); err != nil {
		return false
	}
	return size < 1<<32-1
}
