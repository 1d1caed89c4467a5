package host

import (
	"context"
	"errors"
	"sync"

	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/management"
	"github.com/drover-project/drover/lab/internal/provider"
)

// runningProvider are processes that run.
type runningProvider interface {
	// Stop ends them and returns when they are gone.
	Stop()
}

// startFunc starts the provider under test; wait bounds how long it may take.
type startFunc func(wait context.Context, request control.StartRequest) (runningProvider, error)

// underTest is the provider under test, which can be started and stopped. Only
// one call at a time does something.
type underTest struct {
	mu      sync.Mutex
	begin   startFunc       // nil while there is nothing that could be started
	running runningProvider // nil while it does not run
}

func (u *underTest) set(r runningProvider) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running = r
}

func (u *underTest) startWith(f startFunc) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.begin = f
}

func (u *underTest) start(wait context.Context, request control.StartRequest) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.begin == nil:
		return errors.New("the lab has no provider under test, or is still starting")
	case u.running != nil:
		return errors.New("the provider under test is running already")
	}
	running, err := u.begin(wait, request)
	if err != nil {
		return err
	}
	u.running = running
	return nil
}

func (u *underTest) stop() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running == nil {
		return errors.New("no provider under test is running")
	}
	u.running.Stop()
	u.running = nil
	return nil
}

// startLater starts a provider on a management cluster that has its kinds. What
// it admits and converts is passed to it only when it can answer.
func startLater(life, wait context.Context, plane *management.Plane, p *provider.Provider, request control.StartRequest) (runningProvider, error) {
	ctx, cancel := context.WithCancel(life)
	stop := context.AfterFunc(wait, cancel)
	running, err := plane.StartProvider(ctx, p.WithProgram(request.Program), request.Args...)
	if err == nil && !stop() {
		err = wait.Err()
	}
	if err == nil {
		err = plane.PassToProvider(wait, p)
	}
	if err == nil {
		return running, nil
	}
	cancel()
	if running != nil {
		running.Stop()
	}
	return nil, err
}
