package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

const (
	// dialTimeout bounds a port-forward's connection to the machine's own port.
	dialTimeout = 10 * time.Second
	// headerTimeout bounds how long the kubelet may take to ask for a stream.
	headerTimeout = 10 * time.Second
)

// streams is the HTTP server to which the kubelet passes on the streams of exec
// and port-forward.
type streams struct {
	streaming.Server
	listener net.Listener
	http     *http.Server
}

// newStreams listens on a free local port.
func newStreams(ctx context.Context, s *service) (*streams, error) {
	// The library can listen itself, but tells the port only then.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("port for streams: %w", err)
	}
	config := streaming.DefaultConfig
	config.BaseURL = &url.URL{Scheme: "http", Host: listener.Addr().String()}
	handler, err := streaming.NewServer(config, streamRuntime{s})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server for streams: %w", err), listener.Close())
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	return &streams{Server: handler, listener: listener, http: server}, nil
}

// serve returns when the server is closed.
func (s *streams) serve() error { return s.http.Serve(s.listener) }

// close ends the server. Streams under way end with this process.
func (s *streams) close() error { return s.http.Close() }

// Exec returns the address at which the command's streams can be picked up.
func (s *service) Exec(_ context.Context, q *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	c, err := s.get(q.GetContainerId())
	if err != nil {
		return nil, err
	}
	if _, err := c.running(); err != nil {
		return nil, err
	}
	return s.streams.GetExec(q)
}

// PortForward returns the address at which the connections can be picked up.
func (s *service) PortForward(_ context.Context, q *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.sandbox(q.GetPodSandboxId()); err != nil {
		return nil, err
	}
	return s.streams.GetPortForward(q)
}

// streamRuntime is what the streaming server calls. Its methods share their
// names, but not their signatures, with those of service.
type streamRuntime struct{ service *service }

// Attach is never reached: the service offers no address for it.
func (r streamRuntime) Attach(context.Context, string, io.Reader, io.WriteCloser, io.WriteCloser, bool, <-chan remotecommand.TerminalSize) error {
	return errors.New("attach is not supported by the lab's runtime")
}

// PortForward joins the stream with a port of the machine's 127.0.0.1, as
// containerd does for pods on the host's network. It ends when the port has
// answered to the end, or when ctx ends.
func (r streamRuntime) PortForward(ctx context.Context, _ string, port int32, stream io.ReadWriteCloser) error {
	defer func() { _ = stream.Close() }()
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	go func() {
		// Tell the port that nothing more comes; its answer may still be under way.
		_, _ = io.Copy(conn, stream)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	received := make(chan error, 1)
	go func() {
		_, err := io.Copy(stream, conn)
		received <- err
	}()
	select {
	case err := <-received:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
