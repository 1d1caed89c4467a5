package sim

import (
	"hash/maphash"
	"sync"
)

// memoShards is how many locks the judgements are spread over.
const memoShards = 64

// memo holds the planner's judgement of every View it was shown, for all
// workers of a run and for runs after it with the same planner.
type memo struct {
	decide Decider
	seed   maphash.Seed
	shards [memoShards]struct {
		sync.RWMutex
		known map[View]*Judgement
	}
}

func newMemo(d Decider) *memo {
	m := &memo{decide: d, seed: maphash.MakeSeed()}
	for i := range m.shards {
		m.shards[i].known = map[View]*Judgement{}
	}
	return m
}

// judge gives the judgement of a View in canonical form.
func (m *memo) judge(e *eyes, v *View) *Judgement {
	s := &m.shards[maphash.Comparable(m.seed, *v)%memoShards]
	s.RLock()
	j := s.known[*v]
	s.RUnlock()
	if j != nil {
		return j
	}
	made := judge(m.decide, e, v)
	s.Lock()
	defer s.Unlock()
	if j := s.known[*v]; j != nil {
		return j
	}
	s.known[*v] = &made
	return &made
}

// size is how many Views are known.
func (m *memo) size() int {
	n := 0
	for i := range m.shards {
		m.shards[i].RLock()
		n += len(m.shards[i].known)
		m.shards[i].RUnlock()
	}
	return n
}
