package guest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/drover-project/drover/lab/internal/paths"
)

// service is what a unit file names: one of the machine's own services, or a
// program that runs once.
type service interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	Status() UnitStatus
}

// manager knows the machine's services by name.
type manager struct {
	// units are those that every machine may have. Each refuses to start beside
	// another one.
	units map[string]*unit

	mu       sync.Mutex
	oneshots map[string]*oneshot // those that somebody has asked for
}

func newManager() *manager {
	return &manager{oneshots: map[string]*oneshot{}, units: map[string]*unit{
		"rke2-server": newUnit("rke2-server", paths.RKE2Binary, "server"),
		"rke2-agent":  newUnit("rke2-agent", paths.RKE2Binary, "agent"),
		NodeService:   newUnit(NodeService, paths.LabBinary, NodeService),
	}}
}

// errNotFound and errMasked are reasons of systemd for not starting a unit.
var (
	errNotFound = errors.New("not found")
	errMasked   = errors.New("masked")
)

// find returns the service of that name. A unit file of any other one has to be
// of Type=oneshot: a lab machine knows no other way to run it.
func (m *manager) find(name string) (service, error) {
	if u, ok := m.units[name]; ok {
		return u, nil
	}
	file := findUnitFile(name)
	switch {
	case file.path == "":
		return nil, errNotFound
	case file.masked:
		return nil, errMasked
	}
	settings, err := readUnit(name)
	if err != nil {
		return nil, err
	}
	if settings.kind != "oneshot" {
		return nil, fmt.Errorf("a lab machine runs its own services and those of Type=oneshot, not of Type=%s", settings.kind)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.oneshots[name] == nil {
		m.oneshots[name] = newOneshot(name)
	}
	return m.oneshots[name], nil
}

func (m *manager) act(ctx context.Context, s service, verb string) error {
	switch verb {
	case "start":
		return m.start(ctx, s)
	case "stop":
		return s.Stop(ctx)
	case "restart":
		if err := s.Stop(ctx); err != nil {
			return err
		}
		return m.start(ctx, s)
	}
	return fmt.Errorf("unknown verb %q", verb)
}

// start does what ExecCondition and the unit file say, then starts the service.
func (m *manager) start(ctx context.Context, s service) error {
	switch file := findUnitFile(s.Status().Name); {
	case file.masked:
		return errMasked
	case file.path == "":
		return errNotFound
	}
	if u, ok := s.(*unit); ok {
		if other := m.beside(u); other != nil {
			u.logf("skipped: %s.service is %s (ExecCondition)", other.name, other.Status().State)
			return nil
		}
	}
	return s.Start(ctx)
}

// beside returns another of the machine's own services that is up.
func (m *manager) beside(u *unit) *unit {
	for _, other := range m.units {
		if other != u && other.Status().State != UnitInactive {
			return other
		}
	}
	return nil
}
