package infra

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/machine"
)

// fakeMachines notes down what it is told to boot. Its addresses are loopback
// addresses, so that load balancers can really listen and check.
type fakeMachines struct {
	mu       sync.Mutex
	infos    map[string]machine.Info
	specs    map[string]machine.Spec
	watchers []chan machine.Info
	services map[netip.Addr]bool
	next     byte
	boots    map[string]int
}

func newFakeMachines() *fakeMachines {
	return &fakeMachines{infos: map[string]machine.Info{}, specs: map[string]machine.Spec{}, services: map[netip.Addr]bool{}, boots: map[string]int{}}
}

func (f *fakeMachines) Boot(_ context.Context, spec machine.Spec) (machine.Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.boots[spec.Name]++
	if info, ok := f.infos[spec.Name]; ok {
		return info, machine.ErrExists
	}
	f.next++
	info := machine.Info{
		Name: spec.Name, Hostname: cmp.Or(spec.Hostname, spec.Name), Cluster: spec.Cluster, Role: spec.Role, IP: netip.AddrFrom4([4]byte{127, 0, 80, f.next}),
		ProviderID: spec.ProviderID, FailureDomain: spec.FailureDomain, State: machine.Running,
		Boot: guest.BootResult{State: guest.BootPending},
	}
	f.infos[spec.Name], f.specs[spec.Name] = info, spec
	f.tell(info)
	return info, nil
}

// change alters a machine as if something had happened to it.
func (f *fakeMachines) change(name string, how func(*machine.Info)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info := f.infos[name]
	how(&info)
	f.infos[name] = info
	f.tell(info)
}

func (f *fakeMachines) spec(name string) machine.Spec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.specs[name]
}

func (f *fakeMachines) bootsOf(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.boots[name]
}

// tell is called with mu held.
func (f *fakeMachines) tell(info machine.Info) {
	for _, w := range f.watchers {
		w <- info
	}
}

func (f *fakeMachines) Get(name string) (machine.Info, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, ok := f.infos[name]
	return info, ok
}

func (f *fakeMachines) List() []machine.Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.infos))
}

func (f *fakeMachines) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.infos, name)
	return nil
}

// Watch never blocks a writer: the tests change machines a few dozen times.
func (f *fakeMachines) Watch(context.Context) <-chan machine.Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := make(chan machine.Info, 1000)
	f.watchers = append(f.watchers, w)
	return w
}

func (f *fakeMachines) AddServiceAddress() (netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	ip := netip.AddrFrom4([4]byte{127, 0, 79, f.next})
	f.services[ip] = true
	return ip, nil
}

func (f *fakeMachines) RemoveServiceAddress(ip netip.Addr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.services, ip)
	return nil
}

func (f *fakeMachines) serves(ip string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.services[netip.MustParseAddr(ip)]
}
