package cri

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// ExecSync runs a command, as probes do, and returns its output.
func (s *service) ExecSync(ctx context.Context, q *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	c, err := s.get(q.GetContainerId())
	if err != nil {
		return nil, err
	}
	if q.GetTimeout() > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(q.GetTimeout())*time.Second)
		defer cancel()
	}
	var stdout, stderr bytes.Buffer
	err = c.exec(ctx, q.GetCmd(), nil, &stdout, &stderr)
	if ctx.Err() != nil {
		return nil, status.Errorf(codes.DeadlineExceeded, "the command took longer than %d s", q.GetTimeout())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	return &runtimeapi.ExecSyncResponse{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: exitCode(err)}, nil
}

// exec runs a command beside a container's process, in a group of its own
// that is killed when ctx or the container ends. Its error is an
// *exec.ExitError when the command ran.
func (c *container) exec(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	process, err := c.running()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-process.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	runtime.LockOSThread() // see launch.start
	defer runtime.UnlockOSThread()
	what := c.launch(argv)
	what.Join, what.namespace = what.ownMounts(), process.mounts
	var input io.WriteCloser
	cmd, err := what.start(ctx, func(cmd *exec.Cmd) {
		cmd.Stdout, cmd.Stderr = stdout, stderr
		cmd.WaitDelay = outputDelay
		if stdin != nil {
			// Not cmd.Stdin: Wait would wait for the client to end its input.
			input, err = cmd.StdinPipe()
		}
	})
	if err != nil {
		return status.Errorf(codes.Unknown, "exec in container %s: %v", c.config.GetMetadata().GetName(), err)
	}
	if stdin != nil {
		go func() {
			// Either end may go away first.
			_, _ = io.Copy(input, stdin)
			_ = input.Close()
		}()
	}
	err = cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// Exec runs a command with its streams. There is no terminal: with tty the
// command's output goes the same way as without.
func (r streamRuntime) Exec(ctx context.Context, id string, argv []string, in io.Reader, out, errOut io.WriteCloser, tty bool, _ <-chan remotecommand.TerminalSize) error {
	c, err := r.service.get(id)
	if err != nil {
		return err
	}
	stdout, stderr := writerOrNil(out), writerOrNil(errOut)
	if tty {
		stderr = stdout
	}
	err = c.exec(ctx, argv, in, stdout, stderr)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		// The one error from which the server takes the exit status.
		return utilexec.CodeExitError{Err: err, Code: int(exitCode(err))}
	}
	return err
}

// writerOrNil keeps a nil of an interface type from becoming a writer.
func writerOrNil(w io.WriteCloser) io.Writer {
	if w == nil {
		return nil
	}
	return w
}
