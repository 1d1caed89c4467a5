// Package balancer is a TCP load balancer as clouds offer it: it checks its
// backends' health, gives new connections to healthy ones only, and drains
// those that are taken out of service.
package balancer

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Check tells whether the backend at the address is healthy. It is called
// again and again, with a deadline.
type Check func(ctx context.Context, address netip.AddrPort) error

// Service is one port of a load balancer.
type Service struct {
	// Listen is the balancer's own address and port; port 0 chooses one.
	Listen netip.AddrPort
	// Port is the port of the backends.
	Port  uint16
	Check Check
}

// Backend is a server that may get connections.
type Backend struct {
	Name string
	IP   netip.Addr
	// Excluded backends get no new connections, and lose those they have after Timing.Grace.
	Excluded bool
}

// Timing says how fast a balancer reacts.
type Timing struct {
	// Interval is the pause between two health checks of a backend.
	Interval time.Duration
	// Timeout bounds one health check.
	Timeout time.Duration
	// Fall is how many checks in a row must fail to take a healthy backend out.
	Fall int
	// Grace is how long an excluded backend keeps its connections.
	Grace time.Duration
	// Dial bounds the attempt to connect to one backend.
	Dial time.Duration
}

// DefaultTiming is quicker than most clouds, so that a lab does not wait long.
var DefaultTiming = Timing{
	Interval: time.Second,
	Timeout:  2 * time.Second,
	Fall:     2,
	Grace:    3 * time.Second,
	Dial:     time.Second,
}

// Detection is how long at most it takes to take out a backend that answers nothing any more.
func (t Timing) Detection() time.Duration { return time.Duration(t.Fall) * (t.Interval + t.Timeout) }

// Status is what is known of one backend behind one port.
type Status struct {
	Name     string
	Address  netip.AddrPort
	Healthy  bool
	Excluded bool
	// Open and Total count connections: those open now, and all so far.
	Open  int
	Total int64
	// LastError says why the last health check failed; "" if it did not.
	LastError string
}

// Balancer is a running load balancer.
type Balancer struct {
	timing   Timing
	services []*service
	valve    *valve
	cancel   context.CancelFunc
	group    sync.WaitGroup
}

// New starts a load balancer without backends.
func New(services []Service, timing Timing) (*Balancer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	b := &Balancer{timing: timing, cancel: cancel, valve: newValve()}
	for _, s := range services {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen.String())
		if err != nil {
			b.Close()
			return nil, fmt.Errorf("load balancer: %w", err)
		}
		running := &service{Service: s, ctx: ctx, timing: timing, listener: listener, targets: map[string]*target{}, group: &b.group, valve: b.valve}
		b.services = append(b.services, running)
		b.group.Go(running.accept)
	}
	return b, nil
}

// Close ends the balancer and all its connections.
func (b *Balancer) Close() {
	b.cancel()
	for _, s := range b.services {
		s.close()
	}
	b.group.Wait()
}

// SetBackends replaces the list of backends. A backend that stays (same name
// and address) keeps its state; one that is gone loses its connections.
func (b *Balancer) SetBackends(backends []Backend) {
	for _, s := range b.services {
		s.setBackends(backends)
	}
}

// SetBlackhole makes the balancer take connections and data and pass nothing on, as when the network in front of it
// loses every packet, or ends that. It goes on checking its backends meanwhile.
func (b *Balancer) SetBlackhole(on bool) { b.valve.set(!on) }

// Addresses returns the addresses on which the services listen, in their order.
func (b *Balancer) Addresses() []netip.AddrPort {
	var out []netip.AddrPort
	for _, s := range b.services {
		out = append(out, s.listener.Addr().(*net.TCPAddr).AddrPort())
	}
	return out
}

// Status returns the state of every backend of every service, by port and name.
func (b *Balancer) Status() []Status {
	var out []Status
	for _, s := range b.services {
		out = append(out, s.status()...)
	}
	return out
}

// service is one listening port with its targets.
type service struct {
	Service
	ctx      context.Context
	timing   Timing
	listener net.Listener
	group    *sync.WaitGroup
	valve    *valve

	mu      sync.Mutex
	targets map[string]*target
}

func (s *service) setBackends(backends []Backend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	wanted := map[string]bool{}
	for _, backend := range backends {
		wanted[backend.Name] = true
		address := netip.AddrPortFrom(backend.IP, s.Port)
		if t, ok := s.targets[backend.Name]; ok {
			if t.address == address {
				t.setExcluded(backend.Excluded, s.timing.Grace)
				continue
			}
			t.stop()
		}
		t := newTarget(s.ctx, backend.Name, address)
		t.setExcluded(backend.Excluded, s.timing.Grace)
		s.targets[backend.Name] = t
		s.group.Go(func() { t.watchHealth(s.Check, s.timing) })
	}
	for name, t := range s.targets {
		if !wanted[name] {
			t.stop()
			delete(s.targets, name)
		}
	}
}

func (s *service) status() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Status
	for _, name := range slices.Sorted(maps.Keys(s.targets)) {
		out = append(out, s.targets[name].status())
	}
	return out
}

func (s *service) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.targets {
		t.stop()
	}
}

func (s *service) accept() {
	for {
		client, err := s.listener.Accept()
		if s.ctx.Err() != nil {
			return
		}
		if err != nil {
			// Out of file descriptors, for example; the next attempt may succeed.
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
				continue
			}
		}
		s.group.Go(func() { s.serve(client) })
	}
}

// serve passes one client on to the usable target with the fewest connections;
// if that one cannot be reached, at once to the next.
func (s *service) serve(client net.Conn) {
	if err := s.valve.pass(s.ctx); err != nil {
		reset(client)
		return
	}
	for _, t := range s.usable() {
		dialer := net.Dialer{Timeout: s.timing.Dial}
		server, err := dialer.DialContext(s.ctx, "tcp", t.address.String())
		if err != nil {
			t.noteDialError(err)
			continue
		}
		if !t.join(client, server, s.valve) {
			_ = server.Close()
			continue
		}
		return
	}
	reset(client)
}

func (s *service) usable() []*target {
	s.mu.Lock()
	defer s.mu.Unlock()
	type candidate struct {
		*target
		open int
	}
	var found []candidate
	for _, name := range slices.Sorted(maps.Keys(s.targets)) {
		if open, ok := s.targets[name].load(); ok {
			found = append(found, candidate{s.targets[name], open})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.open - b.open })
	var out []*target
	for _, c := range found {
		out = append(out, c.target)
	}
	return out
}
