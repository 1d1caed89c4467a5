package balancer

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// target is one backend behind one port.
type target struct {
	name    string
	address netip.AddrPort
	ctx     context.Context
	cancel  context.CancelFunc

	mu          sync.Mutex
	healthy     bool
	failures    int // failed checks in a row
	excluded    bool
	drain       *time.Timer // closes the connections of an excluded target
	connections map[*connection]struct{}
	total       int64
	lastError   string
}

func newTarget(ctx context.Context, name string, address netip.AddrPort) *target {
	ctx, cancel := context.WithCancel(ctx)
	return &target{name: name, address: address, ctx: ctx, cancel: cancel, connections: map[*connection]struct{}{}}
}

func (t *target) stop() {
	t.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.healthy = false
	if t.drain != nil {
		t.drain.Stop()
	}
	t.disconnect()
}

// disconnect is called with mu held.
func (t *target) disconnect() {
	for c := range t.connections {
		c.reset()
	}
}

func (t *target) setExcluded(excluded bool, grace time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.excluded == excluded {
		return
	}
	t.excluded = excluded
	if t.drain != nil {
		t.drain.Stop()
	}
	if !excluded {
		return
	}
	t.drain = time.AfterFunc(grace, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.excluded {
			t.disconnect()
		}
	})
}

// load returns the number of open connections, and whether the target may get more.
func (t *target) load() (open int, usable bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.connections), t.healthy && !t.excluded
}

func (t *target) status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Status{
		Name: t.name, Address: t.address, Healthy: t.healthy, Excluded: t.excluded,
		Open: len(t.connections), Total: t.total, LastError: t.lastError,
	}
}

// watchHealth checks the target until it is stopped. One good check makes it
// healthy. When it is taken out its connections are reset, as clouds do, since
// a client of a dead machine would otherwise wait for long.
func (t *target) watchHealth(check Check, timing Timing) {
	for {
		ctx, cancel := context.WithTimeout(t.ctx, timing.Timeout)
		err := check(ctx, t.address)
		cancel()
		if t.ctx.Err() != nil {
			return
		}
		t.noteCheck(err, timing.Fall)
		select {
		case <-t.ctx.Done():
			return
		case <-time.After(timing.Interval):
		}
	}
}

func (t *target) noteCheck(err error, fall int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.healthy, t.failures, t.lastError = true, 0, ""
		return
	}
	t.failures++
	t.lastError = err.Error()
	if t.healthy && t.failures >= fall {
		t.healthy = false
		t.disconnect()
	}
}

func (t *target) noteDialError(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastError = err.Error()
}

// join passes data between client and server until one of them ends, and
// returns true; or false at once if the target went out of service meanwhile.
func (t *target) join(client, server net.Conn, v *valve) bool {
	c := &connection{client: client, server: server}
	t.mu.Lock()
	if !t.healthy || t.excluded {
		t.mu.Unlock()
		return false
	}
	t.connections[c] = struct{}{}
	t.total++
	t.mu.Unlock()

	c.copy(t.ctx, v)

	t.mu.Lock()
	delete(t.connections, c)
	t.mu.Unlock()
	return true
}
