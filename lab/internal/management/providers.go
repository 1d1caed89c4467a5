package management

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/drover-project/drover/lab/internal/provider"
)

// Running is a provider whose processes run.
type Running struct {
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// Stop ends the provider's processes for good and returns when they are gone.
func (r *Running) Stop() {
	r.cancel()
	r.group.Wait()
}

// StartProvider starts the processes of a provider and returns once all are
// ready. They run until Stop is called or ctx ends. args come after the
// arguments that each process has anyway.
func (p *Plane) StartProvider(ctx context.Context, which *provider.Provider, args ...string) (*Running, error) {
	readyCtx, cancelReady := context.WithTimeout(ctx, stepTimeout)
	defer cancelReady()
	runCtx, cancel := context.WithCancel(ctx)
	running := &Running{cancel: cancel}
	started := make([]*program, len(which.Processes))
	for i, process := range which.Processes {
		program, err := p.program(which, process, args)
		if err != nil {
			running.Stop()
			return nil, err
		}
		started[i] = program
		running.group.Go(func() { program.keep(runCtx) })
	}
	for i, process := range which.Processes {
		if process.ReadyURL == "" {
			continue
		}
		readyURL, err := which.ReadyURL(process, p.variables(process))
		if err == nil {
			err = started[i].waitReady(readyCtx, httpOK(readyURL))
		}
		if err != nil {
			running.Stop()
			return nil, fmt.Errorf("provider %s: %w", which.Name, err)
		}
	}
	return running, nil
}

func (p *Plane) program(which *provider.Provider, process provider.Process, args []string) (*program, error) {
	variables := p.variables(process)
	serving, err := p.servingPair(process.Name)
	if err != nil {
		return nil, err
	}
	if err := serving.write(variables.CertDir); err != nil {
		return nil, err
	}
	argv, env, err := which.Command(process, variables)
	if err != nil {
		return nil, err
	}
	return p.newProgram(process.Name, env, append(argv, args...)...), nil
}

func (p *Plane) variables(process provider.Process) provider.Variables {
	return provider.Variables{
		Kubeconfig: p.place.Kubeconfig(),
		RunDir:     string(p.config.Folder),
		Log:        strings.TrimSuffix(p.place.Log(process.Name), ".log"),
		CertDir:    filepath.Join(p.dir("providers"), process.Name),
		Bin:        p.config.Bin,
		Address:    p.address(),
	}
}
