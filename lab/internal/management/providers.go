package management

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/drover-project/drover/lab/internal/provider"
)

// StartProvider starts the processes of a provider and returns once all are ready.
func (p *Plane) StartProvider(ctx context.Context, which *provider.Provider) error {
	ctx2, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	started := make([]*program, len(which.Processes))
	for i, process := range which.Processes {
		program, err := p.program(which, process)
		if err != nil {
			return err
		}
		started[i] = program
		go program.keep(ctx)
	}
	for i, process := range which.Processes {
		if process.ReadyURL == "" {
			continue
		}
		if err := started[i].waitReady(ctx2, httpOK(process.ReadyURL)); err != nil {
			return fmt.Errorf("provider %s: %w", which.Name, err)
		}
	}
	return nil
}

func (p *Plane) program(which *provider.Provider, process provider.Process) (*program, error) {
	certs := filepath.Join(p.dir("providers"), process.Name)
	serving, err := p.servingPair(process.Name)
	if err != nil {
		return nil, err
	}
	if err := serving.write(certs); err != nil {
		return nil, err
	}
	argv, env, err := which.Command(process, provider.Variables{
		Kubeconfig: p.config.Folder.Kubeconfig(),
		RunDir:     string(p.config.Folder),
		CertDir:    certs,
		Bin:        p.config.Bin,
		Address:    Address,
	})
	if err != nil {
		return nil, err
	}
	return newProgram(process.Name, p.config.Folder.Log(process.Name), env, argv...), nil
}
