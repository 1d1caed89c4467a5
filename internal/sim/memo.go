package sim

import (
	"bytes"
	"encoding/binary"
	"sync"
	"unsafe"
)

// memoShards is how many locks the judgements are spread over, a power of two.
const memoShards = 32

// memo holds the planner's judgement of every View it was shown, for all
// workers of an exploration. Few judgements are different, so each is kept once
// in a shard; the Views are packed like Worlds. Nothing in the tables points
// anywhere: the garbage collector passes over them.
type memo struct {
	decide Decider
	packing
	shards [memoShards]memoShard
}

type memoShard struct {
	sync.RWMutex
	// views holds the Views; the origin of each is the place of its judgement.
	views *shard
	made  []*Judgement
	// places are those of the judgements by all that they say.
	places map[string]uint32
	key    bytes.Buffer
}

func newMemo(d Decider, p packing) *memo {
	m := &memo{decide: d, packing: p}
	for i := range m.shards {
		m.shards[i].views = newShard(p)
		m.shards[i].places = map[string]uint32{}
	}
	return m
}

// judge gives the judgement of a View in canonical form.
func (m *memo) judge(e *eyes, v *View) *Judgement {
	var buffer [maxWords]uint32
	key := m.packView(buffer[:0], v)
	h := m.hash(key)
	s := &m.shards[h>>32%memoShards]
	if j := s.find(h, key); j != nil {
		return j
	}
	made := judge(m.decide, e, v)
	return s.add(h, key, &made)
}

func (s *memoShard) find(h uint64, key []uint32) *Judgement {
	s.RLock()
	defer s.RUnlock()
	n, ok := s.views.find(h, key)
	if !ok {
		return nil
	}
	return s.made[s.views.origin(n).from]
}

func (s *memoShard) add(h uint64, key []uint32, j *Judgement) *Judgement {
	s.Lock()
	defer s.Unlock()
	s.key.Reset()
	j.write(&s.key)
	place, known := s.places[string(s.key.Bytes())]
	if !known {
		place = uint32(len(s.made))
		s.made = append(s.made, j)
		s.places[s.key.String()] = place
	}
	// Another worker may have been first; it has come to the same judgement.
	s.views.insert(h, key, origin{from: place})
	return s.made[place]
}

// write puts down all that the judgement says.
func (j *Judgement) write(out *bytes.Buffer) {
	number := func(n uint32) { out.Write(binary.LittleEndian.AppendUint32(out.AvailableBuffer(), n)) }
	text := func(s string) {
		number(uint32(len(s)))
		out.WriteString(s)
	}
	number(bit(j.Settled))
	text(j.Fault)
	for i := range j.Choices {
		c := &j.Choices[i]
		number(uint32(c.Verb) | bit(c.First)<<8 | bit(c.PreTerminateOnly)<<9 | bit(c.Remediate)<<10)
		number(uint32(c.On))
		number(uint32(c.To))
		text(string(c.Ground))
		text(j.rules[i])
	}
}

// packView appends a View in canonical form, like a World without a Budget.
func (p packing) packView(out []uint32, v *View) []uint32 {
	out = append(out, uint32(v.Replicas)|uint32(v.Surge)<<8|bit(v.Initialized)<<16|bit(v.WholeDeleted)<<17|bit(v.EtcdUnknown)<<18|bit(v.WorkloadUnknown)<<19|bit(v.External)<<20|bit(v.Hidden)<<21)
	for _, s := range v.Servers[:p.servers] {
		out = append(out, uint32(s))
	}
	return append(out, 0)
}

// size is how many Views are known, and the memory for them.
func (m *memo) size() (views int, bytes uint64) {
	for i := range m.shards {
		s := &m.shards[i]
		s.RLock()
		views += int(s.views.n)
		bytes += s.views.bytes() + uint64(len(s.made))*uint64(unsafe.Sizeof(Judgement{})+2*unsafe.Sizeof(Choice{}))
		s.RUnlock()
	}
	return views, bytes
}
