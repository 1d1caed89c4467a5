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

// Explore walks every state that can be reached and checks all invariants. The
// error is ErrBudget, ErrTooMany or ErrEnded.
func Explore(o Options) (*Result, error) {
	for _, left := range o.Budget {
		if left > MostOfAFault {
			return nil, fmt.Errorf("%w: %d", ErrBudget, left)
		}
	}
	e := newExploration(o)
	for _, w := range o.begin() {
		e.root(w)
	}
	err := e.walk()
	if err == nil && e.found == nil {
		e.findDeadEnd()
	}
	e.measure()
	e.figures.Largest = e.figures.States
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
	// begins are the states with which a layer begins, by how far they are.
	begins  [][]uint32
	figures Figures
	graph   graph
	found   *finding
	memo    *memo
	began   time.Time
	// passedOver counts states that were not walked because another one, found
	// later, stands for them.
	passedOver uint64
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
		rules: rules{deathInWindow: e.DeathInWindow, restarts: e.Restarts, hooksGetLost: e.Budget[HookLoss] > 0, noHealthCheck: e.NoHealthCheck, merged: true, whole: e.Whole},
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
	e.workers[0].reduce(&w)
	w.canonical()
	key := e.pack(nil, &w)
	h := e.hash(key)
	at := e.shardOf(h)
	if n, fresh := e.shards[at].insert(h, key, origin{from: noOrigin}); fresh {
		e.beginLater(0, []uint32{e.id(at, n)})
	}
}

// walk goes layer by layer: first all that happens without any fault, then all
// with one, and so on. What can happen with more left of the Budget is then
// known before what can happen with less, and need not be walked again. Inside
// a layer it goes level by level: the first way to a state is a shortest of
// those with the fewest faults.
func (e *exploration) walk() error {
	for range e.Budget.sum() + 1 {
		begins := e.begins
		e.begins = nil
		if err := e.layer(begins); err != nil || e.found != nil {
			return err
		}
	}
	return nil
}

func (e *exploration) layer(begins [][]uint32) error {
	var frontier []uint32
	for depth := 0; depth < len(begins) || len(frontier) > 0; depth++ {
		if depth < len(begins) {
			frontier = append(frontier, begins[depth]...)
		}
		var next, later []uint32
		for rest := frontier; len(rest) > 0; {
			batch := rest[:min(len(rest), batchStates*len(e.workers))]
			rest = rest[len(batch):]
			n, l := e.batch(batch)
			next, later = append(next, n...), append(later, l...)
			if err := e.report(); err != nil || e.found != nil {
				return err
			}
		}
		e.beginLater(depth+1, later)
		frontier = next
		e.figures.Depth = max(e.figures.Depth, depth+1)
	}
	return nil
}

// beginLater keeps states for the next layer.
func (e *exploration) beginLater(depth int, ids []uint32) {
	for len(e.begins) <= depth {
		e.begins = append(e.begins, nil)
	}
	e.begins[depth] = append(e.begins[depth], ids...)
}

// report shows how far the walk is, and holds it to its limits.
func (e *exploration) report() error {
	e.figures.States = e.states()
	if e.Watch != nil {
		e.measure()
		if !e.Watch(e.figures) {
			return ErrEnded
		}
	}
	if e.MaxStates > 0 && e.figures.States > uint64(e.MaxStates) {
		return fmt.Errorf("%w: %d", ErrTooMany, e.MaxStates)
	}
	return nil
}

func (e *exploration) states() uint64 {
	var n uint64
	for _, s := range e.shards {
		n += uint64(s.n)
	}
	return n - e.passedOver
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
// The second result are those of the next layer.
func (e *exploration) batch(ids []uint32) (next, later []uint32) {
	var wg sync.WaitGroup
	part := (len(ids) + len(e.workers) - 1) / len(e.workers)
	for i, w := range e.workers {
		from, to := min(i*part, len(ids)), min((i+1)*part, len(ids))
		wg.Go(func() { w.expandAll(e, ids[from:to]) })
	}
	wg.Wait()
	added := make([]added, len(e.shards))
	for i := range e.shards {
		wg.Go(func() { added[i] = e.addAll(i) })
	}
	wg.Wait()
	for _, a := range added {
		next, later = append(next, a.next...), append(later, a.later...)
	}
	for _, w := range e.workers {
		e.graph.add(w)
		e.figures.Transitions += w.transitions
		e.figures.Goals += w.goals
		e.passedOver += w.passedOver
		if e.found == nil {
			e.found = w.found
		}
	}
	return next, later
}

// added are the new states of a shard: of this layer, and of the next.
type added struct{ next, later []uint32 }

func (e *exploration) addAll(at int) added {
	var out added
	words := e.words()
	for _, w := range e.workers {
		b := &w.buckets[at]
		for i, entry := range b.entries {
			n, isNew := e.shards[at].insert(entry.hash, b.keys[i*words:(i+1)*words], entry.origin)
			id := e.id(at, n)
			switch {
			case isNew && entry.fault:
				out.later = append(out.later, id)
			case isNew:
				out.next = append(out.next, id)
			}
			if entry.edge >= 0 {
				w.edges[entry.edge] = id
			}
		}
	}
	return out
}
