package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/drover-project/drover/lab/internal/machine"
	"github.com/drover-project/drover/lab/internal/management"
	"github.com/drover-project/drover/lab/internal/provider"
)

// startPlane starts a management cluster with an infrastructure provider of its
// own, and the providers now on it. step is told what is being done.
func (h *host) startPlane(ctx context.Context, name string, site *machine.Site, now []*provider.Provider, step func(string)) (*management.Plane, []*management.Running, error) {
	step("management cluster (etcd, kube-apiserver)")
	plane, err := management.Start(ctx, management.Config{Folder: h.Folder, Name: name, Site: site, Bin: h.bin, Providers: h.providers})
	if err != nil {
		return nil, nil, err
	}
	step("kinds and webhooks")
	if err := plane.InstallKinds(ctx, now...); err != nil {
		return nil, nil, err
	}
	step("infrastructure provider")
	if err := h.lab.cloud.StartProvider(ctx, plane.REST()); err != nil {
		return nil, nil, err
	}
	var all []*management.Running
	for _, p := range now {
		step("provider " + p.Name)
		running, err := plane.StartProvider(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, running)
	}
	return plane, all, nil
}

// addPlane starts one more management cluster, with everything that runs on the
// first one. It lives as long as life; wait bounds its start.
func (h *host) addPlane(life, wait context.Context, name string) error {
	site, err := h.lab.machines.AddSite()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(life)
	stop := context.AfterFunc(wait, cancel)
	step := func(what string) { h.log.Info("starting a management cluster", "name", name, "step", what) }
	_, _, err = h.startPlane(ctx, name, site, h.providers, step)
	if !stop() {
		err = errors.Join(err, wait.Err())
	}
	if err != nil {
		cancel()
	}
	return err
}

// managements are the management clusters beside the first one.
type managements struct {
	mu    sync.Mutex
	begin func(wait context.Context, name string) error // nil while the lab starts
	known map[string]bool
}

func (m *managements) startWith(begin func(wait context.Context, name string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begin, m.known = begin, map[string]bool{}
}

// add starts one; only one call at a time does something. A name whose start
// failed stays taken: its folder is not empty any more.
func (m *managements) add(wait context.Context, name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("the name %q of a management cluster must be a DNS label: %s", name, strings.Join(problems, "; "))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.begin == nil:
		return errors.New("the lab is still starting")
	case m.known[name]:
		return fmt.Errorf("a management cluster %s was started already", name)
	}
	m.known[name] = true
	if err := m.begin(wait, name); err != nil {
		return fmt.Errorf("start management cluster %s: %w", name, err)
	}
	return nil
}
