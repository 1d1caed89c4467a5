package cri

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// command is what a container, or an exec into it, runs.
type command struct {
	argv []string
	dir  string
	env  []string
	log  *logFile
}

// process is the main process of a container. It leads a process group, which
// ends with it.
type process struct {
	group    int
	done     chan struct{}
	exitCode int32 // valid once done is closed
}

// startProcess starts the command with its output going to the log.
func startProcess(c command) (*process, error) {
	if err := c.log.open(); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	stdout, stderr := c.log.stream("stdout"), c.log.stream("stderr")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	// A child of the container that keeps the output open must not keep the
	// container alive.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	p := &process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The death signal comes when the thread that started the process
		// ends, so that this one must last as long as the process.
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			p.group = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			_ = c.log.close()
			return
		}
		err = cmd.Wait()
		// What is left of the group has lost its first process.
		_ = syscall.Kill(-p.group, syscall.SIGKILL)
		stdout.flush()
		stderr.flush()
		_ = c.log.close()
		p.exitCode = exitCode(err)
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// stop ends the process and returns when it is gone.
func (p *process) stop(grace time.Duration) {
	if grace > 0 {
		// Only the main process is asked, as in a real container. It may be
		// gone already; then done is about to be closed.
		_ = syscall.Kill(p.group, syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.done:
			return
		case <-timer.C:
		}
	}
	select {
	case <-p.done:
		return
	default:
		_ = syscall.Kill(-p.group, syscall.SIGKILL)
	}
	<-p.done
}

// exitCode is the exit status as a shell would give it.
func exitCode(err error) int32 {
	var exit *exec.ExitError
	switch {
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

// runExec runs a command beside a container's process, in a group of its own
// that is killed when ctx ends.
func runExec(ctx context.Context, c command, stdin io.Reader, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if stdin != nil {
		// Not cmd.Stdin: Wait would wait for the client to end its input.
		pipe, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		go func() {
			// Either end may go away first.
			_, _ = io.Copy(pipe, stdin)
			_ = pipe.Close()
		}()
	}
	return cmd.Run()
}
