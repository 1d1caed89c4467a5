package cri

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// dialTimeout bounds a port-forward's connection to the machine's own port.
const dialTimeout = 10 * time.Second

// newStreams makes the HTTP server to which the kubelet sends the streams of
// exec and port-forward. It listens on a free local port.
func newStreams(ctx context.Context, s *service) (streaming.Server, error) {
	// The library wants an address, not a listener.
	probe, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("port for streams: %w", err)
	}
	config := streaming.DefaultConfig
	config.Addr = probe.Addr().String()
	if err := probe.Close(); err != nil {
		return nil, fmt.Errorf("port for streams: %w", err)
	}
	return streaming.NewServer(config, streamRuntime{s})
}

func (s *service) Exec(_ context.Context, q *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	if _, err := s.get(q.GetContainerId()); err != nil {
		return nil, err
	}
	return s.streams.GetExec(q)
}

func (s *service) PortForward(_ context.Context, q *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	return s.streams.GetPortForward(q)
}

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
	err = runExec(ctx, c.exec(q.GetCmd()), nil, &stdout, &stderr)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, status.Errorf(codes.DeadlineExceeded, "command timed out after %d s", q.GetTimeout())
	case err != nil && !errors.As(err, &exit):
		return nil, fmt.Errorf("run command: %w", err)
	}
	return &runtimeapi.ExecSyncResponse{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: exitCode(err)}, nil
}

func (c *container) exec(argv []string) command {
	return command{argv: argv, dir: c.config.GetWorkingDir(), env: c.environment()}
}

// streamRuntime is what the streaming server calls. Its methods share their
// names, but not their signatures, with those of service.
type streamRuntime struct{ service *service }

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
	err = runExec(ctx, c.exec(argv), in, stdout, stderr)
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

func (r streamRuntime) Attach(context.Context, string, io.Reader, io.WriteCloser, io.WriteCloser, bool, <-chan remotecommand.TerminalSize) error {
	return errors.New("attach is not supported by the lab's runtime")
}

// PortForward joins the stream with a port of the machine's 127.0.0.1, as
// containerd does for pods on the host's network.
func (r streamRuntime) PortForward(ctx context.Context, _ string, port int32, stream io.ReadWriteCloser) error {
	defer func() { _ = stream.Close() }()
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	sent, received := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := io.Copy(conn, stream)
		// Tell the server that nothing more comes; its answer may still be under way.
		sent <- errors.Join(err, conn.(*net.TCPConn).CloseWrite())
	}()
	go func() {
		_, err := io.Copy(stream, conn)
		received <- err
	}()
	select {
	case err := <-received:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case err := <-sent:
		if err != nil {
			return err
		}
	}
	select {
	case err := <-received:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
