package sim

// Worlds are kept packed: two words for the wishes and the budget, and one
// word for each server the run has room for. Behind them stand two words that
// tell how the World was first reached.
const (
	globalWords = 2
	originWords = 2
)

// chunkStates is how many states share one piece of memory.
const chunkStates = 1 << 12

// packing turns Worlds into words and back, for runs with a number of servers.
type packing struct{ servers int }

func (p packing) words() int { return globalWords + p.servers }

// pack appends the World, which must be in canonical form.
func (p packing) pack(out []uint32, w *World) []uint32 {
	g := uint64(w.Replicas) | uint64(w.Surge)<<4 | bit(w.Initialized)<<5 | bit(w.Silent)<<6 | bit(w.WholeDeleted)<<7
	for i, left := range w.Left {
		g |= uint64(left) << (8 + 3*i)
	}
	out = append(out, uint32(g), uint32(g>>32))
	for _, s := range w.Servers[:p.servers] {
		out = append(out, uint32(s))
	}
	return out
}

func (p packing) unpack(words []uint32) World {
	g := uint64(words[0]) | uint64(words[1])<<32
	w := World{Replicas: uint8(g & 15), Surge: uint8(g >> 4 & 1), Initialized: g>>5&1 == 1, Silent: g>>6&1 == 1, WholeDeleted: g>>7&1 == 1}
	for i := range w.Left {
		w.Left[i] = uint8(g >> (8 + 3*i) & 7)
	}
	for i, s := range words[globalWords:p.words()] {
		w.Servers[i] = Server(s)
	}
	return w
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// hash mixes the words well enough for tables of a power of two.
func hash(words []uint32) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range words {
		h = (h ^ uint64(w)) * 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>29
}

// origin tells how a state was first reached: from which state and by which
// of its moves.
type origin struct {
	from uint32
	move uint32
}

// noOrigin marks a state that a run begins with.
const noOrigin = ^uint32(0)

// shard is one part of the set of states. A state's number inside its shard
// is the order of its arrival.
type shard struct {
	packing
	table  []uint64
	chunks [][]uint32
	n      uint32
}

func newShard(p packing) *shard { return &shard{packing: p, table: make([]uint64, 1<<10)} }

func (s *shard) stride() int { return s.words() + originWords }

// record is the memory of one state.
func (s *shard) record(n uint32) []uint32 {
	at := int(n%chunkStates) * s.stride()
	return s.chunks[n/chunkStates][at : at+s.stride()]
}

// insert gives the number of a state, and whether it is new.
func (s *shard) insert(h uint64, key []uint32, o origin) (n uint32, fresh bool) {
	if uint64(s.n)*8 > uint64(len(s.table))*5 {
		s.grow()
	}
	at, n, found := s.probe(h, key)
	if found {
		return n, false
	}
	s.table[at] = h&^(1<<32-1) | uint64(s.n+1)
	return s.append(key, o), true
}

// find gives the number of a state that is there.
func (s *shard) find(h uint64, key []uint32) (n uint32, found bool) {
	_, n, found = s.probe(h, key)
	return n, found
}

// probe looks for a state, and for the place in the table that it would get.
func (s *shard) probe(h uint64, key []uint32) (at uint64, n uint32, found bool) {
	mask := uint64(len(s.table) - 1)
	tag := h &^ (1<<32 - 1)
	for at = h & mask; ; at = (at + 1) & mask {
		e := s.table[at]
		if e == 0 {
			return at, 0, false
		}
		if e&^(1<<32-1) != tag {
			continue
		}
		n := uint32(e) - 1
		if equal(s.record(n)[:s.words()], key) {
			return at, n, true
		}
	}
}

func (s *shard) append(key []uint32, o origin) uint32 {
	n := s.n
	if n%chunkStates == 0 {
		s.chunks = append(s.chunks, make([]uint32, chunkStates*s.stride()))
	}
	r := s.record(n)
	copy(r, key)
	r[len(r)-2], r[len(r)-1] = o.from, o.move
	s.n++
	return n
}

// grow doubles the table. The places of the entries are computed anew from
// the states.
func (s *shard) grow() {
	old := s.table
	s.table = make([]uint64, 2*len(old))
	mask := uint64(len(s.table) - 1)
	for _, e := range old {
		if e == 0 {
			continue
		}
		at := hash(s.record(uint32(e) - 1)[:s.words()]) & mask
		for s.table[at] != 0 {
			at = (at + 1) & mask
		}
		s.table[at] = e
	}
}

func (s *shard) origin(n uint32) origin {
	r := s.record(n)
	return origin{from: r[len(r)-2], move: r[len(r)-1]}
}

func (s *shard) bytes() uint64 {
	return uint64(len(s.table))*8 + uint64(len(s.chunks))*chunkStates*uint64(s.stride())*4
}

func equal(a, b []uint32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
