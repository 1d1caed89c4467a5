package standin

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// refreshEvery is how often an agent asks for the list of API servers. RKE2
	// watches it; the lab's agent asks.
	refreshEvery = 5 * time.Second
	// dialTimeout is how long the next API server is not tried.
	dialTimeout = 2 * time.Second
)

// apiProxy is the agent's local load balancer in front of the API servers.
type apiProxy struct {
	list func(context.Context) ([]string, error)

	mu       sync.Mutex
	backends []string
	last     string                // the one that answered last
	open     map[net.Conn]struct{} // connections to backends
}

func newAPIProxy(list func(context.Context) ([]string, error)) *apiProxy {
	return &apiProxy{list: list, open: map[net.Conn]struct{}{}}
}

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

// refresh takes the list of API servers and closes the connections to those
// that have left it, as RKE2 does: otherwise the kubelet would stay with an API
// server that has lost its etcd.
func (p *apiProxy) refresh(ctx context.Context) error {
	list, err := p.list(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backends = list
	for conn := range p.open {
		if !slices.Contains(list, conn.RemoteAddr().String()) {
			_ = conn.Close()
		}
	}
	return nil
}

// listen serves until the context ends.
func (p *apiProxy) listen(ctx context.Context, address string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	p.serve(ctx, l)
	return nil
}

func (p *apiProxy) serve(ctx context.Context, l net.Listener) {
	context.AfterFunc(ctx, func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.join(ctx, conn)
		}
	}()
}

// join passes bytes between a client and a backend until either side ends.
func (p *apiProxy) join(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	backend, err := p.dial(ctx)
	if err != nil {
		return
	}
	defer p.forget(backend)
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(backend, conn); done <- struct{}{} }()
	go func() { _, _ = io.Copy(conn, backend); done <- struct{}{} }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (p *apiProxy) forget(backend net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, backend)
	_ = backend.Close()
}

// dial tries the API servers in turn, the one that answered last first.
func (p *apiProxy) dial(ctx context.Context) (net.Conn, error) {
	var errs []error
	for _, address := range p.inTurn() {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.last = address
		p.open[conn] = struct{}{}
		return conn, nil
	}
	return nil, errors.Join(append(errs, errors.New("no API server answers"))...)
}

func (p *apiProxy) inTurn() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := max(0, slices.Index(p.backends, p.last))
	return slices.Concat(p.backends[first:], p.backends[:first])
}
