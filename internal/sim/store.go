package sim

// Worlds are kept packed: one word for the wishes, one for each server the run
// has room for, and one for the Budget. Behind them stand two words that tell
// how the World was first reached.
const (
	wishWords   = 1
	budgetWords = 1
	originWords = 2
	maxWords    = wishWords + MaxServers + budgetWords
)

// chunkStates is how many states share one piece of memory.
const chunkStates = 1 << 12

// packing turns Worlds into words and back, for runs with a number of servers.
type packing struct{ servers int }

func (p packing) words() int { return wishWords + p.servers + budgetWords }

// pack appends the World, which must be in canonical form.
func (p packing) pack(out []uint32, w *World) []uint32 {
	out = append(out, uint32(w.Replicas)|uint32(w.Surge)<<8|bit(w.Initialized)<<16|bit(w.Silent)<<17|bit(w.WholeDeleted)<<18|bit(w.Direct)<<19|bit(w.External)<<20|bit(w.Hidden)<<21)
	for _, s := range w.Servers[:p.servers] {
		out = append(out, uint32(s))
	}
	return append(out, uint32(w.Left.pack()))
}

func (p packing) unpack(words []uint32) World {
	wish := words[0]
	w := World{Replicas: uint8(wish), Surge: uint8(wish >> 8), Initialized: wish>>16&1 == 1, Silent: wish>>17&1 == 1, WholeDeleted: wish>>18&1 == 1, Direct: wish>>19&1 == 1, External: wish>>20&1 == 1, Hidden: wish>>21&1 == 1}
	for i, s := range words[wishWords : wishWords+p.servers] {
		w.Servers[i] = Server(s)
	}
	w.Left = packedBudget(words[wishWords+p.servers]).unpack()
	return w
}

func bit(b bool) uint32 {
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
// is the order of its arrival. A state is not taken in if it is there with as
// much or more left of its Budget: whatever can happen from it can happen from
// that one.
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

// hash is that of a key, whatever is left of the Budget.
func (p packing) hash(key []uint32) uint64 { return hash(key[:p.words()-budgetWords]) }

// insert gives the number of the state that stands for the key, and whether it
// is new.
func (s *shard) insert(h uint64, key []uint32, o origin) (n uint32, fresh bool) {
	if uint64(s.n)*8 > uint64(len(s.table))*5 {
		s.grow()
	}
	at, n, found := s.probe(h, key, noState)
	if found {
		return n, false
	}
	s.table[at] = h&^(1<<32-1) | uint64(s.n+1)
	return s.append(key, o), true
}

// find gives the number of the state that stands for the key.
func (s *shard) find(h uint64, key []uint32) (n uint32, found bool) {
	_, n, found = s.probe(h, key, noState)
	return n, found
}

// better gives the number of another state that stands for this one: it was
// reached later, and more is left of its Budget.
func (s *shard) better(n uint32) (other uint32, found bool) {
	key := s.record(n)[:s.words()]
	_, other, found = s.probe(s.hash(key), key, n)
	return other, found
}

// noState is a number that no state has.
const noState = ^uint32(0)

// probe looks for a state that stands for the key, other than one, and for the
// place in the table that the key would get.
func (s *shard) probe(h uint64, key []uint32, than uint32) (at uint64, n uint32, found bool) {
	mask := uint64(len(s.table) - 1)
	tag := h &^ (1<<32 - 1)
	for at = h & mask; ; at = (at + 1) & mask {
		e := s.table[at]
		if e == 0 {
			return at, 0, false
		}
		n := uint32(e) - 1
		if e&^(1<<32-1) != tag || n == than {
			continue
		}
		if s.standsFor(s.record(n), key) {
			return at, n, true
		}
	}
}

// standsFor tells whether a record is that of the same World, with as much
// left or more.
func (s *shard) standsFor(record, key []uint32) bool {
	last := len(key) - budgetWords
	for i, word := range key[:last] {
		if record[i] != word {
			return false
		}
	}
	return packedBudget(record[last]).covers(packedBudget(key[last]))
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
		at := s.hash(s.record(uint32(e) - 1)[:s.words()]) & mask
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
