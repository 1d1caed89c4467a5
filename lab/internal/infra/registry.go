package infra

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// owner is the LabMachine to which a machine belongs: the one for which it was
// booted, or the same one in another management cluster.
type owner struct {
	uid     types.UID
	key     types.NamespacedName
	cluster types.NamespacedName
	// hostname is the one that it took of a pool; empty otherwise.
	hostname string
}

// registry remembers whose each machine is. Machines have no namespaces: two
// LabMachines of the same name cannot both be booted.
type registry struct {
	mu     sync.Mutex
	owners map[string]owner
}

func newRegistry() *registry { return &registry{owners: map[string]owner{}} }

// claim reserves a machine's name; it fails if the name is another one's.
func (r *registry) claim(name string, o owner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.owners[name]
	if ok && known.uid != o.uid {
		return false
	}
	o.hostname = known.hostname
	r.owners[name] = o
	return true
}

// takeHostname gives the owner of a machine the first hostname of a pool that nobody has, or the one that it has
// already. It tells whether there was one.
func (r *registry) takeHostname(name string, pool []string) (hostname string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := r.owners[name]
	if mine.hostname != "" {
		return mine.hostname, true
	}
	taken := map[string]bool{}
	for _, o := range r.owners {
		taken[o.hostname] = true
	}
	for _, hostname := range pool {
		if !taken[hostname] {
			mine.hostname = hostname
			r.owners[name] = mine
			return hostname, true
		}
	}
	return "", false
}

// adopt makes a machine the one of the LabMachine uid, which must have the key
// of the LabMachine for which it was booted. The caller has compared provider ids.
func (r *registry) adopt(name string, key types.NamespacedName, uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.owners[name]
	if !ok || known.key != key {
		return false
	}
	known.uid = uid
	r.owners[name] = known
	return true
}

// release gives the name back if it is uid's, and tells whether it was.
func (r *registry) release(name string, uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners[name].uid != uid {
		return false
	}
	delete(r.owners, name)
	return true
}

func (r *registry) ownerOf(name string) (owner, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.owners[name]
	return o, ok
}
