package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/drover-project/drover/lab/internal/guest"
)

var (
	// ErrNotFound is the cause when there is no machine of that name.
	ErrNotFound = errors.New("no such machine")
	// ErrExists is the cause when a machine of that name was booted and not yet removed.
	ErrExists = errors.New("a machine of this name exists")
	// ErrNotRunning is the cause when the machine is not, or no longer, running.
	ErrNotRunning = errors.New("the machine is not running")
)

// Manager owns all machines of one lab. Its methods may be called concurrently.
type Manager struct {
	runDir  string
	network *network

	mu       sync.Mutex
	machines map[string]*machine
	watchers map[*watcher]struct{}
}

// machine is one booted machine. Its info is guarded by Manager.mu.
type machine struct {
	info Info
	fate *fate  // set by whoever ends it first
	link string // the bridge's end of its cable
	disk string

	started chan struct{} // closed when process is set, or never will be
	process *os.Process   // its first process; nil if it could not be started
	up      chan struct{} // closed when it is Running
	dead    chan struct{} // closed when its last process is gone
}

// fate is what a machine's info will say once it is dead.
type fate struct {
	state  State
	reason string
}

// NewManager makes the bridge lab0 with the address 10.77.0.1/16 in this
// process's network namespace, and keeps machines' disks in runDir/machines.
// The folder is hidden from the machines.
func NewManager(runDir string) (*Manager, error) {
	runDir, err := filepath.Abs(runDir)
	if err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	network, err := newNetwork()
	if err != nil {
		return nil, err
	}
	return &Manager{
		runDir:   runDir,
		network:  network,
		machines: map[string]*machine{},
		watchers: map[*watcher]struct{}{},
	}, nil
}

// Boot starts a machine and returns once its service manager answers; its user
// data is worked off after that (Info.Boot). When ctx ends first, the machine
// is killed. A machine that cannot start stays in the list as Failed.
func (m *Manager) Boot(ctx context.Context, spec Spec) (Info, error) {
	if err := spec.validate(); err != nil {
		return Info{}, fmt.Errorf("boot machine %q: %w", spec.Name, err)
	}
	mc, err := m.register(spec)
	if err != nil {
		return Info{}, fmt.Errorf("boot machine %s: %w", spec.Name, err)
	}
	if err := m.start(mc, spec); err != nil {
		m.update(mc, func(info *Info) { info.State, info.Reason = Failed, err.Error() })
		close(mc.dead)
		close(mc.started)
		return m.infoOf(mc), fmt.Errorf("boot machine %s: %w", spec.Name, err)
	}
	close(mc.started)
	select {
	case <-mc.up:
		return m.infoOf(mc), nil
	case <-mc.dead:
		info := m.infoOf(mc)
		return info, fmt.Errorf("boot machine %s: %s", spec.Name, info.Reason)
	case <-ctx.Done():
		m.end(mc, Failed, "gave up waiting for its start: "+ctx.Err().Error())
		return m.infoOf(mc), fmt.Errorf("boot machine %s: %w", spec.Name, ctx.Err())
	}
}

func (s Spec) validate() error {
	if problems := validation.IsDNS1123Label(s.Name); len(problems) > 0 {
		return fmt.Errorf("the name must be a DNS label: %s", strings.Join(problems, "; "))
	}
	if !filepath.IsAbs(s.LabBinary) {
		return fmt.Errorf("the path of the lab binary %q must be absolute", s.LabBinary)
	}
	if err := s.Format.Validate(); err != nil {
		return err
	}
	if s.KubeBinary != "" && !filepath.IsAbs(s.KubeBinary) {
		return fmt.Errorf("the path of the kube binary %q must be absolute", s.KubeBinary)
	}
	return nil
}

func (m *Manager) register(spec Spec) (*machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.machines[spec.Name]; ok {
		return nil, ErrExists
	}
	ip, link, err := m.network.allocate()
	if err != nil {
		return nil, err
	}
	mc := &machine{
		info: Info{
			Name: spec.Name, Hostname: cmp.Or(spec.Hostname, spec.Name), Cluster: spec.Cluster, Role: spec.Role, IP: ip,
			ProviderID: spec.ProviderID, FailureDomain: spec.FailureDomain,
			State: Starting, Boot: guest.BootResult{State: guest.BootPending},
			Bootstrap: guest.BootstrapResult{State: guest.BootPending},
		},
		link:    link,
		disk:    filepath.Join(m.runDir, "machines", spec.Name),
		started: make(chan struct{}),
		up:      make(chan struct{}),
		dead:    make(chan struct{}),
	}
	m.machines[spec.Name] = mc
	m.notify(mc.info)
	return mc, nil
}

// Get returns what is known of a machine.
func (m *Manager) Get(name string) (Info, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mc, ok := m.machines[name]
	if !ok {
		return Info{}, false
	}
	return mc.info, true
}

// List returns all machines that are not removed, by name.
func (m *Manager) List() []Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	infos := make([]Info, 0, len(m.machines))
	for _, name := range slices.Sorted(maps.Keys(m.machines)) {
		infos = append(infos, m.machines[name].info)
	}
	return infos
}

// Kill switches a machine off at once, as if its power failed: nobody is told,
// and connections to it stay open at the other end. Its disk remains. Killing
// a dead machine does nothing.
func (m *Manager) Kill(name string) error {
	mc, err := m.find(name)
	if err != nil {
		return fmt.Errorf("kill machine %s: %w", name, err)
	}
	m.end(mc, Terminated, "killed")
	return nil
}

// Remove kills a machine and deletes its disk. Removing a machine that does
// not exist does nothing.
func (m *Manager) Remove(name string) error {
	mc, err := m.find(name)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	m.end(mc, Terminated, "removed")
	if err := os.RemoveAll(mc.disk); err != nil {
		return fmt.Errorf("remove disk of machine %s: %w", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.machines, name)
	m.notify(mc.info)
	return nil
}

// Close kills all machines. Their disks remain.
func (m *Manager) Close() {
	for _, info := range m.List() {
		// One that vanished meanwhile is as dead as can be.
		_ = m.Kill(info.Name)
	}
}

func (m *Manager) find(name string) (*machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mc, ok := m.machines[name]
	if !ok {
		return nil, ErrNotFound
	}
	return mc, nil
}

// running returns the machine if it can be talked to or disturbed.
func (m *Manager) running(name string) (*machine, error) {
	mc, err := m.find(name)
	if err != nil {
		return nil, err
	}
	if m.infoOf(mc).State != Running {
		return nil, ErrNotRunning
	}
	return mc, nil
}

func (m *Manager) infoOf(mc *machine) Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	return mc.info
}

// update changes a machine's info and tells the watchers if it differs.
func (m *Manager) update(mc *machine, change func(*Info)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := mc.info
	change(&mc.info)
	if mc.info != before {
		m.notify(mc.info)
	}
}
