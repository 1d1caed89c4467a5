package observe

import (
	"sync"
	"time"
)

// memory is what the Observer can't read from anywhere. After a restart the
// times begin anew, which only makes it more patient.
type memory struct {
	mu *sync.Mutex
	// unmatched is since when a member has had no Machine, by cluster UID and
	// member ID.
	unmatched map[string]map[uint64]time.Time
	// registered is when the registration address last accepted a
	// connection, by cluster UID and address.
	registered map[string]time.Time
}

func newMemory() memory {
	return memory{mu: &sync.Mutex{}, unmatched: map[string]map[uint64]time.Time{}, registered: map[string]time.Time{}}
}

// orphans records the members without a Machine and returns since when each
// has been one. Members that are no longer among them are forgotten.
func (m memory) orphans(cluster string, ids []uint64, at time.Time) map[uint64]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := map[uint64]time.Time{}
	for _, id := range ids {
		now[id] = at
		if since, ok := m.unmatched[cluster][id]; ok {
			now[id] = since
		}
	}
	if len(now) == 0 {
		delete(m.unmatched, cluster)
	} else {
		m.unmatched[cluster] = now
	}
	return now
}

// registrationLife is how long a successful look at the registration address
// counts.
const registrationLife = 30 * time.Second

func (m memory) registeredRecently(cluster, address string, now time.Time) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.registered[cluster+" "+address]
	return at, ok && now.Sub(at) < registrationLife
}

func (m memory) rememberRegistered(cluster, address string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, seen := range m.registered {
		if at.Sub(seen) >= registrationLife {
			delete(m.registered, key)
		}
	}
	m.registered[cluster+" "+address] = at
}
