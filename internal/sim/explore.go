package sim

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"time"
)

// batchStates is how many states are expanded before the next are added.
const batchStates = 1 << 14

// Explore walks every state that can be reached and checks all invariants.
func Explore(o Options) (*Result, error) {
	e := newExploration(o)
	for _, w := range o.begin() {
		e.root(w)
	}
	err := e.walk()
	if err == nil && e.found == nil {
		e.findDeadEnd()
	}
	e.measure()
	res := &Result{Figures: e.figures}
	if e.found != nil {
		res.Violation = e.story(*e.found)
	}
	return res, err
}

type exploration struct {
	Options
	packing
	shardBits int
	shards    []*shard
	workers   []*worker
	frontier  []uint32
	figures   Figures
	graph     graph
	found     *finding
	memo      *memo
	began     time.Time
}

// finding is a broken invariant: in a state, or on one of its moves.
type finding struct {
	state  uint32
	move   int // -1: the state itself
	breach string
}

func newExploration(o Options) *exploration {
	o.Decide = o.decider()
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	p := packing{servers: o.room()}
	e := &exploration{Options: o, memo: newMemo(o.Decide, p), packing: p, shardBits: bits.Len(uint(2*o.Workers - 1))}
	for range 1 << e.shardBits {
		e.shards = append(e.shards, newShard(e.packing))
	}
	for range o.Workers {
		e.workers = append(e.workers, e.newWorker())
	}
	e.figures.Workers = o.Workers
	if o.Now != nil {
		e.began = o.Now()
	}
	return e
}

func (e *exploration) expander() *expander {
	return &expander{
		rules: rules{deathInWindow: e.DeathInWindow, restarts: e.Restarts, hooksGetLost: e.Budget[HookLoss] > 0, noHealthCheck: e.NoHealthCheck, merged: true},
		actor: actor{without: e.Without},
		stale: e.Stale, blackouts: e.Blackouts, memo: e.memo,
	}
}

// id and place turn a shard and a number inside it into one number and back.
func (e *exploration) id(shard int, n uint32) uint32 { return n<<e.shardBits | uint32(shard) }

func (e *exploration) place(id uint32) (*shard, uint32) {
	return e.shards[id&(1<<e.shardBits-1)], id >> e.shardBits
}

func (e *exploration) shardOf(h uint64) int { return int(h >> (64 - e.shardBits)) }

func (e *exploration) world(id uint32) World {
	s, n := e.place(id)
	return e.unpack(s.record(n))
}

func (e *exploration) root(w World) {
	w.settle()
	w.canonical()
	key := e.pack(nil, &w)
	h := hash(key)
	at := e.shardOf(h)
	if n, fresh := e.shards[at].insert(h, key, origin{from: noOrigin}); fresh {
		e.frontier = append(e.frontier, e.id(at, n))
	}
}

// walk goes level by level, so that the first way to a state is a shortest.
func (e *exploration) walk() error {
	for len(e.frontier) > 0 {
		var next []uint32
		for rest := e.frontier; len(rest) > 0; {
			batch := rest[:min(len(rest), batchStates*len(e.workers))]
			rest = rest[len(batch):]
			next = append(next, e.batch(batch)...)
			e.figures.States = e.states()
			if e.Watch != nil {
				e.measure()
				if !e.Watch(e.figures) {
					return ErrEnded
				}
			}
			if e.found != nil {
				return nil
			}
			if e.MaxStates > 0 && e.figures.States > uint64(e.MaxStates) {
				return fmt.Errorf("%w: %d", ErrTooMany, e.MaxStates)
			}
		}
		e.frontier = next
		e.figures.Depth++
	}
	return nil
}

func (e *exploration) states() uint64 {
	var n uint64
	for _, s := range e.shards {
		n += uint64(s.n)
	}
	return n
}

func (e *exploration) measure() {
	if e.Now != nil {
		e.figures.Elapsed = e.Now().Sub(e.began)
	}
	e.figures.Views, e.figures.Bytes = e.memo.size()
	e.figures.Bytes += e.graph.bytes()
	for _, s := range e.shards {
		e.figures.Bytes += s.bytes()
	}
}

// batch expands states on all workers, then adds what they found, each shard
// by itself. The order of everything is the same in every run.
func (e *exploration) batch(ids []uint32) []uint32 {
	var wg sync.WaitGroup
	part := (len(ids) + len(e.workers) - 1) / len(e.workers)
	for i, w := range e.workers {
		from, to := min(i*part, len(ids)), min((i+1)*part, len(ids))
		wg.Go(func() { w.expandAll(e, ids[from:to]) })
	}
	wg.Wait()
	fresh := make([][]uint32, len(e.shards))
	for i := range e.shards {
		wg.Go(func() { fresh[i] = e.addAll(i) })
	}
	wg.Wait()
	var next []uint32
	for _, f := range fresh {
		next = append(next, f...)
	}
	for _, w := range e.workers {
		e.graph.add(w)
		e.figures.Transitions += w.transitions
		e.figures.Goals += w.goals
		if e.found == nil {
			e.found = w.found
		}
	}
	return next
}

func (e *exploration) addAll(at int) []uint32 {
	var fresh []uint32
	words := e.words()
	for _, w := range e.workers {
		b := &w.buckets[at]
		for i, entry := range b.entries {
			n, isNew := e.shards[at].insert(entry.hash, b.keys[i*words:(i+1)*words], entry.origin)
			id := e.id(at, n)
			if isNew {
				fresh = append(fresh, id)
			}
			if entry.edge >= 0 {
				w.edges[entry.edge] = id
			}
		}
	}
	return fresh
}
