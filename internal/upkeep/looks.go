package upkeep

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// looks is when each object is looked at next, by its UID. After a restart every
// one is looked at once. Its zero value is ready to use.
type looks struct {
	mu   sync.Mutex
	next map[types.UID]time.Time
}

// forgetAfter is for how long an object nobody has asked for is remembered.
const forgetAfter = 48 * time.Hour

func (l *looks) due(uid types.UID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !now.Before(l.next[uid])
}

// set notes the next look, and forgets objects that are gone.
func (l *looks) set(uid types.UID, now, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = map[types.UID]time.Time{}
	}
	for other, at := range l.next {
		if now.Sub(at) > forgetAfter {
			delete(l.next, other)
		}
	}
	l.next[uid] = next
}
