package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// requestTimeout bounds requests whose context has no deadline of its own.
const requestTimeout = 30 * time.Second

// Client controls a lab from outside. Its methods may be called concurrently.
type Client struct {
	socket string
	http   *http.Client
}

// NewClient returns a client of the control socket at the path.
func NewClient(socket string) *Client {
	transport := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, socket) },
		IdleConnTimeout: time.Minute,
	}
	return &Client{socket: socket, http: &http.Client{Transport: transport}}
}

// Close gives up idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks how the lab is doing.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/status")
}

// Machines lists all machines.
func (c *Client) Machines(ctx context.Context) ([]Machine, error) {
	return get[[]Machine](ctx, c, "/machines")
}

// Balancers lists all load balancers with their backends.
func (c *Client) Balancers(ctx context.Context) ([]Balancer, error) {
	return get[[]Balancer](ctx, c, "/balancers")
}

// Disturb applies a fault to a machine.
func (c *Client) Disturb(ctx context.Context, machine string, fault Fault) error {
	return c.post(ctx, "/machines/"+url.PathEscape(machine)+"/"+string(fault), nil, nil)
}

// DisturbBalancer applies Blackhole to the load balancer of a Cluster, or ends it with Heal.
func (c *Client) DisturbBalancer(ctx context.Context, namespace, cluster string, fault Fault) error {
	return c.post(ctx, "/balancers/"+url.PathEscape(namespace)+"/"+url.PathEscape(cluster)+"/"+string(fault), nil, nil)
}

// Exec runs a command inside a machine and waits for its end; ctx bounds it.
// That the command fails is told by the result, not by the error.
func (c *Client) Exec(ctx context.Context, machine string, request ExecRequest) (ExecResult, error) {
	var result ExecResult
	err := c.post(ctx, "/machines/"+url.PathEscape(machine)+"/exec", request, &result)
	return result, err
}

// StartProvider starts the provider under test and returns once it is ready; ctx bounds the wait.
func (c *Client) StartProvider(ctx context.Context, request StartRequest) error {
	return c.post(ctx, "/provider/start", request, nil)
}

// StopProvider ends the provider under test.
func (c *Client) StopProvider(ctx context.Context) error {
	return c.post(ctx, "/provider/stop", nil, nil)
}

// AddManagement starts one more management cluster and returns once it is ready; ctx bounds the wait.
func (c *Client) AddManagement(ctx context.Context, name string) error {
	return c.post(ctx, "/managements/"+url.PathEscape(name), nil, nil)
}

// Down tells the lab to end. It does not wait for the end.
func (c *Client) Down(ctx context.Context) error { return c.post(ctx, "/down", nil, nil) }

// DialContext connects to an IP address and port of the lab's network. It fits
// rest.Config.Dial and gRPC dialers (with network ignored: it is always TCP).
func (c *Client) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	return c.dial(ctx, url.Values{"addr": {address}})
}

// DialInside connects from inside a machine, whose 127.0.0.1 is its own.
func (c *Client) DialInside(ctx context.Context, machine, address string) (net.Conn, error) {
	return c.dial(ctx, url.Values{"addr": {address}, "machine": {machine}})
}

func (c *Client) dial(ctx context.Context, query url.Values) (net.Conn, error) {
	address := query.Get("addr")
	conn, err := dialSocket(ctx, c.socket)
	if err != nil {
		return nil, fmt.Errorf("dial %s in the lab: %w", address, err)
	}
	tunnelled, err := upgrade(ctx, conn, query)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("dial %s in the lab: %w", address, err)
	}
	return tunnelled, nil
}

func upgrade(ctx context.Context, conn net.Conn, query url.Values) (net.Conn, error) {
	// The end of ctx interrupts the handshake, but not the connection afterwards.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://lab/dial?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", tunnel)
	if err := request.Write(conn); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		defer func() { _ = response.Body.Close() }()
		return nil, readFailure(response)
	}
	if !stop() {
		return nil, ctx.Err()
	}
	return bufferedConn{Conn: conn, reader: reader}, nil
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var value T
	err := c.do(ctx, http.MethodGet, path, nil, &value)
	return value, err
}

func (c *Client) post(ctx context.Context, path string, body, into any) error {
	return c.do(ctx, http.MethodPost, path, body, into)
}

func (c *Client) do(ctx context.Context, method, path string, body, into any) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("ask the lab: %w", err)
		}
		content = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://lab"+path, content)
	if err != nil {
		return fmt.Errorf("ask the lab: %w", err)
	}
	response, err := c.http.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the lab does not answer; it is starting, ending, or has died: %w", err)
	}
	if err != nil {
		return fmt.Errorf("ask the lab: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusBadRequest {
		return readFailure(response)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("read the lab's answer: %w", err)
	}
	return nil
}

func readFailure(response *http.Response) error {
	var told failure
	if err := json.NewDecoder(response.Body).Decode(&told); err != nil || told.Error == "" {
		return fmt.Errorf("the lab answers %s", response.Status)
	}
	if response.StatusCode == http.StatusNotFound {
		return NotFound(errors.New(told.Error))
	}
	return errors.New(told.Error)
}
