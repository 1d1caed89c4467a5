// Package pid1 is what the first process of a pid namespace has to do: start
// one child, pass signals on to it, reap every orphan, and end with the child.
// When it ends, the kernel kills everything else in the namespace.
package pid1

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Run starts cmd, waits until it has ended and returns its exit code (128 plus
// the signal's number when a signal ended it). Meanwhile it reaps every other
// process that is handed to it, and forwards SIGTERM and SIGINT. The caller
// must not wait for children of its own in the same process.
func Run(cmd *exec.Cmd) (int, error) {
	// The first process of a namespace has no default actions: without a
	// handler the kernel would drop these signals.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)

	// Its own process group: what a terminal sends to ours, it gets once, from us.
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	child := cmd.Process.Pid
	go func() {
		for s := range signals {
			// The child may be gone already; then the loop below ends us.
			_ = syscall.Kill(child, s.(syscall.Signal))
		}
	}()
	return reapUntil(child)
}

func reapUntil(child int) (int, error) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, fmt.Errorf("wait for process %d: %w", child, err)
		case pid != child:
			continue
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		}
		return status.ExitStatus(), nil
	}
}
