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

// frontend is a load balancer as a LabCluster names it.
type frontend struct {
	key types.NamespacedName // of the LabCluster
	uid types.UID            // of the LabCluster, which is another one in each management cluster
	// address is what the LabCluster says its load balancer has; "" while it has none.
	address string
	ports   []int32
}

// entry is one load balancer.
type entry struct {
	owner    types.UID // of the LabCluster
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

// ensure returns the address of the LabCluster's load balancer, which it starts
// if there is none. A load balancer whose LabCluster came here from another
// management cluster is taken over: the address in its spec tells that it is the same.
func (f *fleet) ensure(wanted frontend, cluster types.NamespacedName) (netip.Addr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := f.balancers[wanted.key]; ok {
		switch {
		case !e.take(wanted):
			return netip.Addr{}, fmt.Errorf("another LabCluster %s exists in this lab, with a load balancer at %s; names of LabClusters are unique in a lab", wanted.key, e.address)
		case !slices.Equal(e.ports, wanted.ports):
			return netip.Addr{}, fmt.Errorf("the load balancer serves the ports %v; they cannot be changed to %v", e.ports, wanted.ports)
		}
		return e.address, nil
	}
	return f.start(wanted, cluster)
}

// take tells whether the load balancer is the LabCluster's, and notes it as its owner.
func (e *entry) take(wanted frontend) bool {
	if e.owner != wanted.uid && e.address.String() != wanted.address {
		return false
	}
	e.owner = wanted.uid
	return true
}

// start is called with mu held.
func (f *fleet) start(wanted frontend, cluster types.NamespacedName) (netip.Addr, error) {
	address, err := f.machines.AddServiceAddress()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("address of the load balancer: %w", err)
	}
	var services []balancer.Service
	for _, port := range wanted.ports {
		services = append(services, balancer.Service{
			Listen: netip.AddrPortFrom(address, uint16(port)), Port: uint16(port), Check: healthCheck(port),
		})
	}
	started, err := balancer.New(services, f.timing)
	if err != nil {
		return netip.Addr{}, errors.Join(err, f.machines.RemoveServiceAddress(address))
	}
	e := &entry{owner: wanted.uid, cluster: cluster, address: address, ports: slices.Clone(wanted.ports), balancer: started}
	f.balancers[wanted.key] = e
	f.refresh(e)
	return address, nil
}

// remove ends the LabCluster's load balancer; one that is another's stays.
func (f *fleet) remove(unwanted frontend) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.balancers[unwanted.key]
	if !ok || !e.take(unwanted) {
		return nil
	}
	if e.nodes != nil {
		e.nodes.stop()
	}
	e.balancer.Close()
	delete(f.balancers, unwanted.key)
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

// blackhole makes the load balancers of a Cluster silent, or ends that; it tells whether there is one.
func (f *fleet) blackhole(cluster types.NamespacedName, on bool) (found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.balancers {
		if e.cluster == cluster {
			e.balancer.SetBlackhole(on)
			found = true
		}
	}
	return found
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
