package cri

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// outputDelay is how long after the end of a process its output is waited for:
// a descendant in a group of its own may keep the other end open for ever.
const outputDelay = time.Second

// process is the main process of a container. It leads a process group, which
// ends with it. A descendant that makes a group of its own escapes; it ends
// with the machine.
type process struct {
	pid      int
	done     chan struct{} // closed when the process is gone and its output is in the log
	exitCode int32         // valid once done is closed
	finished int64         // valid once done is closed

	mu     sync.Mutex
	reaped bool     // pid may belong to somebody else
	mounts *os.File // the process's mount namespace, to join it
}

// startProcess starts the command with its output going to the log. It fails
// when the command cannot be run.
func startProcess(what launch, logs *logFile) (*process, error) {
	if err := logs.open(); err != nil {
		return nil, err
	}
	stdout, stderr := logs.stream("stdout"), logs.stream("stderr")
	started, result := make(chan error), &process{done: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // see launch.start
		cmd, err := what.start(context.Background(), func(cmd *exec.Cmd) {
			cmd.Stdout, cmd.Stderr = stdout, stderr
			cmd.WaitDelay = outputDelay
		})
		if err == nil {
			result.pid = cmd.Process.Pid
			// It fails when the process has ended already.
			result.mounts, _ = openMounts(result.pid)
		}
		started <- err
		if err == nil {
			result.wait(cmd)
			stdout.flush()
			stderr.flush()
		}
		logs.close()
		close(result.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return result, nil
}

// wait waits for the end of the process, and ends the rest of its group.
func (p *process) wait(cmd *exec.Cmd) {
	// As long as nobody has taken its exit status, the process's id, which is
	// also the group's, goes to nobody else.
	for {
		if err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	p.reaped = true
	_ = p.mounts.Close()
	p.mu.Unlock()
	p.exitCode = exitCode(cmd.Wait())
	p.finished = now()
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// signal sends a signal to the whole group; a group that is gone gets none.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		// It fails only for a group without a process, and ours has one.
		_ = syscall.Kill(-p.pid, s)
	}
}

// stop ends the process and returns when it is gone, or with the error of ctx.
func (p *process) stop(ctx context.Context, grace time.Duration) error {
	if grace > 0 {
		p.signal(syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
	p.signal(syscall.SIGKILL)
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exitCode is the exit status as a shell would give it.
func exitCode(err error) int32 {
	var exit *exec.ExitError
	switch {
	// Output that was not waited for is no failure of the process.
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0
	case !errors.As(err, &exit):
		return 255
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(exit.ExitCode())
}
