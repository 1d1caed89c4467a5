package balancer

import (
	"context"
	"io"
	"sync"
)

// valve holds everything back while it is shut: a client of the balancer is not refused, it hears nothing.
type valve struct {
	mu   sync.Mutex
	open chan struct{} // closed while the valve is open
}

func newValve() *valve {
	v := &valve{open: make(chan struct{})}
	close(v.open)
	return v
}

// set opens or shuts the valve.
func (v *valve) set(open bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-v.open:
		if !open {
			v.open = make(chan struct{})
		}
	default:
		if open {
			close(v.open)
		}
	}
}

// pass returns when the valve is open, or with the error of ctx.
func (v *valve) pass(ctx context.Context) error {
	v.mu.Lock()
	open := v.open
	v.mu.Unlock()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// valved is a writer behind a valve.
type valved struct {
	io.Writer
	valve *valve
	ctx   context.Context
}

// Write waits until the valve is open.
func (w valved) Write(p []byte) (int, error) {
	if err := w.valve.pass(w.ctx); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
