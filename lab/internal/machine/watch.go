package machine

import (
	"context"
	"slices"
)

// watcher holds what one subscriber has not yet been told: the latest info of
// every changed machine, in the order of first change.
type watcher struct {
	pending map[string]Info
	order   []string
	wake    chan struct{} // has room for one token
}

// Watch sends the info of every machine, and then of each machine that
// changed, until ctx is done; the channel is closed then. A slow reader misses
// states in between, never the latest one. A removed machine is sent a last
// time; Get no longer finds it.
func (m *Manager) Watch(ctx context.Context) <-chan Info {
	w := &watcher{pending: map[string]Info{}, wake: make(chan struct{}, 1)}
	m.mu.Lock()
	m.watchers[w] = struct{}{}
	for _, mc := range m.machines {
		w.add(mc.info)
	}
	m.mu.Unlock()

	infos := make(chan Info)
	go func() {
		defer close(infos)
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.watchers, w)
		}()
		m.feed(ctx, w, infos)
	}()
	return infos
}

func (m *Manager) feed(ctx context.Context, w *watcher, infos chan<- Info) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
		for info, ok := m.take(w); ok; info, ok = m.take(w) {
			select {
			case <-ctx.Done():
				return
			case infos <- info:
			}
		}
	}
}

func (m *Manager) take(w *watcher) (Info, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(w.order) == 0 {
		return Info{}, false
	}
	name := w.order[0]
	w.order = slices.Delete(w.order, 0, 1)
	info := w.pending[name]
	delete(w.pending, name)
	return info, true
}

// add is called with Manager.mu held.
func (w *watcher) add(info Info) {
	if _, ok := w.pending[info.Name]; !ok {
		w.order = append(w.order, info.Name)
	}
	w.pending[info.Name] = info
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// notify is called with Manager.mu held.
func (m *Manager) notify(info Info) {
	for w := range m.watchers {
		w.add(info)
	}
}
