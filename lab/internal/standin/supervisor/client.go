package supervisor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// timeout bounds each call of a Client.
const timeout = 10 * time.Second

// Client talks to a server's supervisor.
type Client struct {
	base  string
	token Token
	http  *http.Client
}

// Connect fetches the server's authority, checks it against the token if that
// pins one, and gives a client that trusts nothing else.
func Connect(ctx context.Context, server string, token Token) (*Client, error) {
	base := strings.TrimSuffix(server, "/")
	if u, err := url.Parse(base); err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("server %q: expected https://HOST:%d", server, Port)
	}
	trusting := &http.Client{Timeout: timeout, Transport: &http.Transport{
		// The authority is not known before it is fetched; it is checked below.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // see above
		DisableKeepAlives: true,
	}}
	ca, err := get(ctx, trusting, base+"/cacerts", Token{})
	if err != nil {
		return nil, fmt.Errorf("fetch the authority of %s: %w", base, err)
	}
	if token.Hash != "" && Hash(ca) != token.Hash {
		return nil, fmt.Errorf("%w %s: %s != %s", ErrAuthority, base, token.Hash, Hash(ca))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("the authority of %s is no certificate", base)
	}
	return &Client{base: base, token: token, http: &http.Client{Timeout: timeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		// Each call may reach another server behind a load balancer.
		DisableKeepAlives: true,
	}}}, nil
}

// Bootstrap fetches what a joining server needs.
func (c *Client) Bootstrap(ctx context.Context) (Bootstrap, error) {
	var out Bootstrap
	err := c.fetch(ctx, "/v1-rke2/server-bootstrap", &out)
	return out, err
}

// Members fetches the etcd members.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	var out struct{ Members []Member }
	err := c.fetch(ctx, "/db/info", &out)
	return out.Members, err
}

// Agent fetches what an agent needs, under the name of a node and with its password.
func (c *Client) Agent(ctx context.Context, node, ip, password string) (Agent, error) {
	var out Agent
	body, err := getWith(ctx, c.http, c.base+"/v1-rke2/agent-bootstrap?"+url.Values{"node": {node}, "ip": {ip}}.Encode(), c.token,
		http.Header{passwordHeader: {password}})
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return out, fmt.Errorf("answer of %s: %w", c.base, err)
	}
	return out, nil
}

// APIServers fetches host:port of all API servers.
func (c *Client) APIServers(ctx context.Context) ([]string, error) {
	var out []string
	err := c.fetch(ctx, "/v1-rke2/apiservers", &out)
	return out, err
}

func (c *Client) fetch(ctx context.Context, path string, into any) error {
	body, err := get(ctx, c.http, c.base+path, c.token)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("answer of %s: %w", c.base, err)
	}
	return nil
}

// ErrAuthority means that the token pins another authority than the server has.
var ErrAuthority = errors.New("token CA hash does not match the authority of")

// ErrUnauthorized means that the token was refused.
var ErrUnauthorized = errors.New("the server refused the token")

// ErrPassword means that a name is another node's.
var ErrPassword = errors.New("unable to verify password for node")

// passwordHeader is where a node gives its password.
const passwordHeader = "Rke2-Node-Password"

func get(ctx context.Context, client *http.Client, address string, token Token) ([]byte, error) {
	return getWith(ctx, client, address, token, http.Header{})
}

func getWith(ctx context.Context, client *http.Client, address string, token Token, header http.Header) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header = header
	if token.Password != "" {
		request.SetBasicAuth(token.User, token.Password)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusOK:
		return body, nil
	case http.StatusUnauthorized:
		return nil, ErrUnauthorized
	default:
		return nil, fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(body)))
	}
}
