package workload

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
)

// ErrRefused says that the kubelet was reached, but nothing listens on the
// port: the process in the pod is not running.
var ErrRefused = errors.New("connection refused in the pod")

// conn makes a net.Conn of a forwarded port.
type conn struct {
	connection httpstream.Connection
	data       httpstream.Stream
	port       int

	mu       sync.Mutex
	read     time.Time
	write    time.Time
	deadline *time.Timer
	problem  error
	known    chan struct{}
}

func newConn(connection httpstream.Connection, data, problems httpstream.Stream, port int) *conn {
	c := &conn{connection: connection, data: data, port: port, known: make(chan struct{})}
	go c.watch(problems)
	return c
}

// watch reads the error stream, on which the kubelet says once why the
// connection ended.
func (c *conn) watch(problems io.Reader) {
	text, _ := io.ReadAll(io.LimitReader(problems, 4096))
	c.mu.Lock()
	if len(text) > 0 {
		c.problem = problemOf(strings.TrimSpace(string(text)))
	}
	c.mu.Unlock()
	close(c.known)
	if len(text) > 0 {
		_ = c.connection.Close()
	}
}

func problemOf(text string) error {
	if strings.Contains(text, "connection refused") {
		return ErrRefused
	}
	return errors.New(text)
}

// Read implements net.Conn. When the forwarded connection ended with a
// reason, the reason is returned rather than a bare end of file.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.data.Read(b)
	if err == nil || n > 0 {
		return n, err
	}
	return 0, c.reason(err)
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.data.Write(b)
	if err != nil {
		err = c.reason(err)
	}
	return n, err
}

// reason prefers what the kubelet said. The two streams race at the end of a
// connection, so it is given a moment.
func (c *conn) reason(err error) error {
	select {
	case <-c.known:
	case <-time.After(100 * time.Millisecond):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem != nil {
		return c.problem
	}
	return err
}

// Close implements net.Conn. It ends the whole tunnel, which carries only
// this connection.
func (c *conn) Close() error {
	c.mu.Lock()
	if c.deadline != nil {
		c.deadline.Stop()
		c.deadline = nil
	}
	c.mu.Unlock()
	return errors.Join(c.data.Close(), c.connection.Close())
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.arm(&t, &t) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.arm(&t, nil) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.arm(nil, &t) }

// arm sets the timer that closes the connection at the earlier deadline: the
// streams know no deadline of their own, and closing is what unblocks them.
func (c *conn) arm(read, write *time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if read != nil {
		c.read = *read
	}
	if write != nil {
		c.write = *write
	}
	if c.deadline != nil {
		c.deadline.Stop()
		c.deadline = nil
	}
	at := earlier(c.read, c.write)
	if at.IsZero() {
		return nil
	}
	c.deadline = time.AfterFunc(time.Until(at), func() { _ = c.Close() })
	return nil
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return address{port: c.port} }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return address{port: c.port} }

// address stands in for a network address: the connection has none of its
// own.
type address struct{ port int }

// Network implements net.Addr.
func (address) Network() string { return portforward.PortForwardProtocolV1Name }

// String implements net.Addr.
func (a address) String() string { return "pod:" + strconv.Itoa(a.port) }
