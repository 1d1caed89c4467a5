package infra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/drover-project/drover/lab/internal/balancer"
	"github.com/drover-project/drover/lab/internal/machine"
)

// fleet holds the load balancers of all clusters and keeps their backends up to date.
type fleet struct {
	machines Machines
	registry *registry
	timing   balancer.Timing
	log      logr.Logger

	mu        sync.Mutex
	balancers map[types.NamespacedName]*entry // by LabCluster
}

// entry is one load balancer.
type entry struct {
	cluster  types.NamespacedName
	address  netip.Addr
	ports    []int32
	balancer *balancer.Balancer
	nodes    *nodeWatch // nil until there is a kubeconfig
}

// Balancer is a load balancer with its backends.
type Balancer struct {
	Cluster  types.NamespacedName
	Address  netip.Addr
	Backends []balancer.Status
}

func newFleet(machines Machines, registry *registry, timing balancer.Timing, log logr.Logger) *fleet {
	return &fleet{machines: machines, registry: registry, timing: timing, log: log, balancers: map[types.NamespacedName]*entry{}}
}

// healthCheck returns how a port is checked, as one would configure it in a
// cloud. Without anonymous access the API server answers 401 or 403, which
// shows that it works all the same.
func healthCheck(port int32) balancer.Check {
	switch port {
	case 6443:
		return balancer.HTTPS("/readyz", http.StatusOK, http.StatusUnauthorized, http.StatusForbidden)
	case 9345:
		return balancer.HTTPS("/ping")
	}
	return balancer.TCP()
}

// ensure returns the address of the LabCluster's load balancer, which it starts if there is none.
func (f *fleet) ensure(key, cluster types.NamespacedName, ports []int32) (netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := f.balancers[key]; ok {
		if !slices.Equal(e.ports, ports) {
			return netip.Addr{}, fmt.Errorf("the load balancer serves the ports %v; they cannot be changed to %v", e.ports, ports)
		}
		return e.address, nil
	}
	address, err := f.machines.AddServiceAddress()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("address of the load balancer: %w", err)
	}
	var services []balancer.Service
	for _, port := range ports {
		services = append(services, balancer.Service{
			Listen: netip.AddrPortFrom(address, uint16(port)), Port: uint16(port), Check: healthCheck(port),
		})
	}
	started, err := balancer.New(services, f.timing)
	if err != nil {
		return netip.Addr{}, errors.Join(err, f.machines.RemoveServiceAddress(address))
	}
	e := &entry{cluster: cluster, address: address, ports: slices.Clone(ports), balancer: started}
	f.balancers[key] = e
	f.refresh(e)
	return address, nil
}

func (f *fleet) remove(key types.NamespacedName) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.balancers[key]
	if !ok {
		return nil
	}
	if e.nodes != nil {
		e.nodes.stop()
	}
	e.balancer.Close()
	delete(f.balancers, key)
	return f.machines.RemoveServiceAddress(e.address)
}

// followNodes (re)starts watching the cluster's Nodes with this kubeconfig.
func (f *fleet) followNodes(key types.NamespacedName, kubeconfig []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.balancers[key]
	if !ok || (e.nodes != nil && e.nodes.uses(kubeconfig)) {
		return nil
	}
	// What the old watch knew holds until the new one knows better.
	var before excluded
	if e.nodes != nil {
		e.nodes.stop()
		before = e.nodes.excluded()
	}
	watch, err := startNodeWatch(kubeconfig, before, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.refresh(e)
	})
	if err != nil {
		return fmt.Errorf("watch the Nodes of Cluster %s: %w", e.cluster, err)
	}
	e.nodes = watch
	return nil
}

// followMachines updates the backends whenever a machine changes, until ctx ends.
func (f *fleet) followMachines(ctx context.Context) {
	for range f.machines.Watch(ctx) {
		f.mu.Lock()
		for _, e := range f.balancers {
			f.refresh(e)
		}
		f.mu.Unlock()
	}
}

// refresh is called with mu held.
func (f *fleet) refresh(e *entry) {
	var out excluded
	if e.nodes != nil {
		out = e.nodes.excluded()
	}
	var backends []balancer.Backend
	for _, info := range f.machines.List() {
		owner, ok := f.registry.ownerOf(info.Name)
		if !ok || owner.cluster != e.cluster || info.Role != machine.ControlPlane || info.State != machine.Running {
			continue
		}
		backends = append(backends, balancer.Backend{Name: info.Name, IP: info.IP, Excluded: out.has(info)})
	}
	e.balancer.SetBackends(backends)
}

func (f *fleet) list() []Balancer {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Balancer
	for _, e := range f.balancers {
		out = append(out, Balancer{Cluster: e.cluster, Address: e.address, Backends: e.balancer.Status()})
	}
	slices.SortFunc(out, func(a, b Balancer) int { return cmp.Compare(a.Cluster.String(), b.Cluster.String()) })
	return out
}
