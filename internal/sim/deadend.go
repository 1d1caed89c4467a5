package sim

// graph keeps where the moves that count as progress lead, in the order in
// which the states were expanded.
type graph struct {
	parts []part
	n     int
}

// part is what one worker found in one batch.
type part struct {
	states  []uint32
	degrees []uint16
	reached []bool
	edges   []uint32
}

func (g *graph) add(w *worker) {
	g.parts = append(g.parts, part{
		states:  append([]uint32(nil), w.expanded...),
		degrees: append([]uint16(nil), w.degrees...),
		reached: append([]bool(nil), w.reached...),
		edges:   append([]uint32(nil), w.edges...),
	})
	g.n += len(w.expanded)
}

func (g *graph) bytes() uint64 {
	var n uint64
	for _, p := range g.parts {
		n += uint64(len(p.states))*(4+2+1) + uint64(len(p.edges))*4
	}
	return n
}

// findDeadEnd looks for a state from which no sequence of progress leads to
// the goal, and takes the one reached first. It spreads from the goals against
// the direction of the moves: states were numbered in the order of a breadth
// first walk, so that going through them backwards nearly always meets the end
// of a move before its beginning.
func (e *exploration) findDeadEnd() {
	good := newMarks(e)
	for changed := true; changed; {
		changed = false
		for i := len(e.graph.parts) - 1; i >= 0; i-- {
			if e.graph.parts[i].spread(good) {
				changed = true
			}
		}
	}
	for _, p := range e.graph.parts {
		for _, id := range p.states {
			if !good.has(id) && e.canBeHelped(id) {
				e.found = &finding{state: id, move: -1, breach: "I3: from here the goal can't be reached any more"}
				return
			}
		}
	}
}

// canBeHelped tells whether anybody could do anything: without a quorum, or
// when it goes with a server that is about to stop, nothing happens until a
// frozen host wakes up, and without a health check a
// broken server that is up to date stays until an operator comes, unless it is
// one more than wished.
func (e *exploration) canBeHelped(id uint32) bool {
	w := e.world(id)
	_, staying := w.machines()
	for _, s := range w.Servers {
		surplus := staying > int(w.Replicas) && s.Member() == Voter && s.has(NodeRef)
		if e.NoHealthCheck && s.Machine() == Staying && !s.has(Outdated) && s.broken() && !surplus {
			return false
		}
	}
	return w.keepsQuorum() || w.WholeDeleted || !w.Initialized
}

// spread marks the states of a part from which a marked one can be reached.
func (p *part) spread(good marks) bool {
	changed := false
	end := len(p.edges)
	for i := len(p.states) - 1; i >= 0; i-- {
		from := end - int(p.degrees[i])
		id := p.states[i]
		if !good.has(id) && (p.reached[i] || good.any(p.edges[from:end])) {
			good.set(id)
			changed = true
		}
		end = from
	}
	return changed
}

// marks is a set of states.
type marks struct {
	shards    [][]uint64
	shardBits int
}

func newMarks(e *exploration) marks {
	m := marks{shardBits: e.shardBits}
	for _, s := range e.shards {
		m.shards = append(m.shards, make([]uint64, s.n/64+1))
	}
	return m
}

func (m marks) at(id uint32) (word *uint64, bit uint64) {
	n := id >> m.shardBits
	return &m.shards[id&(1<<m.shardBits-1)][n/64], 1 << (n % 64)
}

func (m marks) has(id uint32) bool {
	word, bit := m.at(id)
	return *word&bit != 0
}

func (m marks) set(id uint32) {
	word, bit := m.at(id)
	*word |= bit
}

func (m marks) any(ids []uint32) bool {
	for _, id := range ids {
		if m.has(id) {
			return true
		}
	}
	return false
}
