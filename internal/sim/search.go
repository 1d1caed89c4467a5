package sim

import "container/heap"

// searchLimit is how many Worlds are looked at before a Replay gives up.
const searchLimit = 50_000

// path is a World on the way to a Sighting. Faults are dearer than what
// happens by itself, so that they are assumed only if nothing else explains
// what was seen.
type path struct {
	world World
	cost  int
	away  int
}

// frontier is a heap of paths, the most promising first.
type frontier []path

// Len implements heap.Interface.
func (f frontier) Len() int { return len(f) }

// Less implements heap.Interface.
func (f frontier) Less(i, j int) bool { return f[i].cost+3*f[i].away < f[j].cost+3*f[j].away }

// Swap implements heap.Interface.
func (f frontier) Swap(i, j int) { f[i], f[j] = f[j], f[i] }

// Push implements heap.Interface.
func (f *frontier) Push(x any) { *f = append(*f, x.(path)) }

// Pop implements heap.Interface.
func (f *frontier) Pop() any {
	old := *f
	p := old[len(old)-1]
	*f = old[:len(old)-1]
	return p
}

const faultCost = 4

// search finds Worlds that look like the Sighting: those that are reached at
// the least cost, and all that come of them by what can't be seen.
func (r *Replay) search(from []World, next *Sighting) []World {
	known := map[World]bool{}
	var open frontier
	add := func(w World, cost int) {
		if !known[w] {
			known[w] = true
			heap.Push(&open, path{world: w, cost: cost, away: w.distance(next)})
		}
	}
	for _, w := range from {
		add(w, 0)
	}
	var found []World
	best := -1
	var steps []Step
	for looked := 0; open.Len() > 0 && looked < searchLimit; looked++ {
		p := heap.Pop(&open).(path)
		if best >= 0 && p.cost+3*p.away > best+faultCost {
			break
		}
		if p.away == 0 {
			found = append(found, p.world)
			if best < 0 {
				best = p.cost
			}
		}
		steps = r.steps(steps[:0], &p.world)
		for _, st := range steps {
			after := p.world
			after.Apply(st)
			cost := p.cost + 1
			if !st.Progress() {
				cost += faultCost
			}
			add(after, cost)
		}
	}
	return found
}

// searchMixed is search for a Sighting whose sources were not read in the same
// moment: Nodes and members are asked side by side, and something may happen
// between the two answers.
func (r *Replay) searchMixed(from []World, next *Sighting) []World {
	for _, first := range []Sources{Management | Workload, Management | EtcdItself} {
		earlier, later := *next, *next
		earlier.of, later.of = first, everySource&^first
		if found := r.search(r.search(from, &earlier), &later); len(found) > 0 {
			return found
		}
	}
	return nil
}
