package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/drover-project/drover/lab/internal/standin/supervisor"
)

// runAgent is `rke2 agent`.
func (n *node) runAgent(ctx context.Context) error {
	url := n.config.String("server")
	if url == "" {
		return fmt.Errorf("`server` is not set in config.yaml: an agent needs the URL of a server, https://HOST:%d", supervisor.Port)
	}
	client, credentials, err := n.register(ctx, url)
	if err != nil {
		return err
	}
	proxy := &apiProxy{client: client}
	if err := proxy.refresh(ctx); err != nil {
		return fmt.Errorf("list API servers: %w", err)
	}
	if err := proxy.listen(ctx, "127.0.0.1:6443"); err != nil {
		return err
	}
	go proxy.keepFresh(ctx)
	if err := n.startRuntime(ctx); err != nil {
		return err
	}
	files := kubeletFiles{Client: credentials.Client, Serving: credentials.Serving, ServerCA: credentials.ServerCA, ClientCA: credentials.ClientCA}
	if err := n.startKubelet(ctx, files); err != nil {
		return err
	}
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		return fmt.Errorf("notify readiness: %w", err)
	}
	<-ctx.Done()
	return nil
}

func (n *node) register(ctx context.Context, url string) (*supervisor.Client, supervisor.Agent, error) {
	var client *supervisor.Client
	var credentials supervisor.Agent
	err := until(ctx, 2*time.Second, func(ctx context.Context) (bool, error) {
		c, err := supervisor.Connect(ctx, url, n.token)
		if err == nil {
			client = c
			credentials, err = c.Agent(ctx, n.name, n.ip())
		}
		if errors.Is(err, supervisor.ErrUnauthorized) || errors.Is(err, supervisor.ErrAuthority) {
			return false, fmt.Errorf("register at %s: %w", url, err)
		}
		if err != nil {
			n.log.Info("waiting for a server to register at", "server", url, "error", err)
			return false, nil
		}
		return true, nil
	})
	return client, credentials, err
}

// apiProxy is the agent's local load balancer in front of the API servers.
type apiProxy struct {
	client *supervisor.Client

	mu       sync.Mutex
	backends []string
	next     int
}

// refreshEvery is how often an agent asks for the list of API servers. RKE2
// watches it; the lab's agent asks.
const refreshEvery = 5 * time.Second

func (p *apiProxy) keepFresh(ctx context.Context) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			// A failure leaves the last list, as in RKE2.
			_ = p.refresh(ctx)
		}
	}
}

func (p *apiProxy) refresh(ctx context.Context) error {
	list, err := p.client.APIServers(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(list) > 0 {
		p.backends = list
	}
	return nil
}

func (p *apiProxy) listen(ctx context.Context, address string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(ctx, conn)
		}
	}()
	return nil
}

func (p *apiProxy) serve(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	backend, err := p.dial(ctx)
	if err != nil {
		return
	}
	defer func() { _ = backend.Close() }()
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(backend, conn); done <- struct{}{} }()
	go func() { _, _ = io.Copy(conn, backend); done <- struct{}{} }()
	<-done
}

// dial tries the API servers in turn, beginning with the one that answered
// last.
func (p *apiProxy) dial(ctx context.Context) (net.Conn, error) {
	p.mu.Lock()
	backends, first := append([]string(nil), p.backends...), p.next
	p.mu.Unlock()
	var errs []error
	for i := range backends {
		index := (first + i) % len(backends)
		conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", backends[index])
		if err == nil {
			p.mu.Lock()
			p.next = index
			p.mu.Unlock()
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
