package sim

// worker expands states for an exploration and keeps what it found until it is
// added to the shards.
type worker struct {
	*expander
	buckets []bucket
	// expanded are the states, degrees the number of their moves that count
	// as progress, edges where those lead.
	expanded    []uint32
	degrees     []uint16
	reached     []bool
	edges       []uint32
	transitions uint64
	goals       uint64
	passedOver  uint64
	found       *finding
}

// bucket is what goes into one shard.
type bucket struct {
	keys    []uint32
	entries []entry
}

type entry struct {
	hash   uint64
	origin origin
	// edge is the place among the worker's edges, -1 for none.
	edge int32
	// fault: it takes one fault more to get there.
	fault bool
}

func (e *exploration) newWorker() *worker {
	return &worker{expander: e.expander(), buckets: make([]bucket, 1<<e.shardBits)}
}

func (w *worker) reset() {
	for i := range w.buckets {
		w.buckets[i].keys, w.buckets[i].entries = w.buckets[i].keys[:0], w.buckets[i].entries[:0]
	}
	w.expanded, w.degrees, w.reached, w.edges = w.expanded[:0], w.degrees[:0], w.reached[:0], w.edges[:0]
	w.transitions, w.goals, w.passedOver = 0, 0, 0
}

func (w *worker) expandAll(e *exploration, ids []uint32) {
	w.reset()
	for _, id := range ids {
		if w.found != nil {
			return
		}
		if w.passOver(e, id) {
			continue
		}
		world := e.world(id)
		res := w.expand(&world)
		if res.breach != "" {
			w.found = &finding{state: id, move: -1, breach: res.breach}
			return
		}
		if res.reached {
			w.goals++
		}
		before := len(w.edges)
		w.sort(e, id)
		w.expanded = append(w.expanded, id)
		w.reached = append(w.reached, res.reached)
		w.degrees = append(w.degrees, uint16(len(w.edges)-before))
	}
}

// passOver leaves out a state for which another one stands. It lives on as the
// beginning of a move to that one.
func (w *worker) passOver(e *exploration, id uint32) bool {
	s, n := e.place(id)
	other, found := s.better(n)
	if !found {
		return false
	}
	w.passedOver++
	w.expanded = append(w.expanded, id)
	w.reached = append(w.reached, false)
	w.degrees = append(w.degrees, 1)
	w.edges = append(w.edges, e.id(int(id&(1<<e.shardBits-1)), other))
	return true
}

// sort puts the successors into the buckets of their shards. A World that is
// lost is the end of its story: nobody can be held to anything there.
func (w *worker) sort(e *exploration, id uint32) {
	for i := range w.out {
		s := &w.out[i]
		w.transitions++
		if s.breach != "" {
			w.found = &finding{state: id, move: i, breach: s.breach}
			return
		}
		if s.world.Lost() {
			continue
		}
		w.reduce(&s.world)
		s.world.canonical()
		en := entry{origin: origin{from: id, move: uint32(i)}, edge: -1, fault: s.move.fault()}
		if s.progress {
			en.edge = int32(len(w.edges))
			w.edges = append(w.edges, 0)
		}
		w.put(e, &s.world, en)
	}
}

func (w *worker) put(e *exploration, world *World, en entry) {
	var buffer [maxWords]uint32
	key := e.pack(buffer[:0], world)
	en.hash = e.hash(key)
	b := &w.buckets[e.shardOf(en.hash)]
	b.keys = append(b.keys, key...)
	b.entries = append(b.entries, en)
}
