package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// Client talks to the service manager of one machine.
type Client struct{ http *http.Client }

// NewClient returns a client for the service manager that listens on the unix
// socket path. Its calls are bounded by their contexts only.
func NewClient(path string) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}}
}

// Exec runs a command in the machine and waits for its end.
func (c *Client) Exec(ctx context.Context, request ExecRequest) (ExecResult, error) {
	var result ExecResult
	err := c.call(ctx, http.MethodPost, "/exec", request, &result)
	return result, err
}

// refusal is an answer of the service manager other than success.
type refusal struct {
	status int
	reason string
}

// Error returns the service manager's words.
func (r *refusal) Error() string { return r.reason }

func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("ask the machine: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://machine"+path, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("ask the machine: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("ask the machine: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("ask the machine: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return &refusal{response.StatusCode, strings.TrimSpace(string(answer))}
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("answer of the machine: %w", err)
	}
	return nil
}
