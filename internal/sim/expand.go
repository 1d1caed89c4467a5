package sim

// Move is one transition of the model: a step of the surroundings, an action
// of the controller, or both, when the action was decided on what could be
// seen before the step.
type Move struct {
	// Step is what happened, if Stepped.
	Step    Step
	Stepped bool
	// Choice is what the controller did, nil if it did nothing. On and To are
	// the servers it meant.
	Choice *Choice
	On, To int
	// Before is another thing the controller did just before, nil if none:
	// then Choice was decided without knowing of it.
	Before             *Choice
	BeforeOn, BeforeTo int
	// Old are the sources that still showed the World before the step, Unread
	// those that could not be read.
	Old, Unread Sources
	// Rule is the name of the planner's rule behind Choice.
	Rule string
}

// Progress tells whether the move counts for the promise that the goal stays
// reachable.
func (m *Move) Progress() bool {
	if m.Stepped {
		return m.Choice == nil && m.Step.Progress()
	}
	return m.Before == nil && m.Unread == 0
}

// fault tells whether the move takes something from the Budget.
func (m *Move) fault() bool {
	_, spent := spends(m.Step.Kind)
	return m.Stepped && spent
}

// successor is a World that a move leads to.
type successor struct {
	world    World
	progress bool
	breach   string
	move     Move
}

// expander finds everything that may happen next. It belongs to one goroutine.
type expander struct {
	rules
	actor
	stale     bool
	blackouts bool

	memo  *memo
	eyes  eyes
	out   []successor
	steps []Step
}

// result is what an expansion says of the World itself.
type result struct {
	// reached: the goal is reached, and the planner agrees.
	reached bool
	// breach is a breach of the decision itself.
	breach string
}

// judge is the planner's judgement of what it sees.
func (x *expander) judge(v *View) *Judgement {
	key := *v
	key.canonical()
	return x.memo.judge(&x.eyes, &key)
}

func (v *View) canonical() { sortDown(&v.Servers) }

// expand fills x.out with the successors of a World that is not lost.
func (x *expander) expand(w *World) result {
	x.out = x.out[:0]
	now := look(w)
	j := x.judge(&now)
	res := result{reached: j.content() && w.reached() || len(j.Choices) == 0 && w.awaitsOperator(), breach: j.Fault}
	x.carryOut(w, &now, j, Move{})
	if x.blackouts {
		x.unread(w, now)
	}
	x.steps = x.rules.steps(x.steps[:0], w)
	for _, st := range x.steps {
		after := *w
		after.Apply(st)
		x.add(&after, x.stepBreach(st, w, &after), Move{Step: st, Stepped: true})
	}
	if x.stale {
		x.late(&now, j)
	}
	return res
}

// content tells whether the planner has nothing left to do, but to let go of a
// control plane of which nothing is left.
func (j *Judgement) content() bool {
	if len(j.Choices) == 1 {
		return j.Choices[0].Verb == Finish
	}
	return j.Settled && len(j.Choices) == 0
}

// unread lets the controller decide while sources can't be read. Etcd is
// reached through the workload cluster.
func (x *expander) unread(w *World, v View) {
	if v.EtcdUnknown {
		return
	}
	v.EtcdUnknown = true
	x.carryOut(w, &v, x.judge(&v), Move{Unread: EtcdItself})
	v.WorkloadUnknown = true
	x.carryOut(w, &v, x.judge(&v), Move{Unread: EtcdItself | Workload})
}

// late lets the controller act after each move on what it saw before it, in
// every mixture of old and new sources.
func (x *expander) late(before *View, j *Judgement) {
	for i := range len(x.out) {
		s := x.out[i]
		if s.breach != "" || s.world.Lost() {
			continue
		}
		now := look(&s.world)
		changed := differ(before, &now)
		for old := Sources(1); old <= changed; old++ {
			if old&^changed != 0 {
				continue
			}
			view, judgement := *before, j
			if old != changed {
				view = mix(before, &now, old)
				judgement = x.judge(&view)
			}
			m := s.move
			m.Old = old
			if m.Choice != nil {
				m.Before, m.BeforeOn, m.BeforeTo = m.Choice, m.On, m.To
			}
			x.carryOut(&s.world, &view, judgement, m)
		}
	}
}

// carryOut adds the outcome of every choice, for every server it may mean.
func (x *expander) carryOut(w *World, v *View, j *Judgement, m Move) {
	for k := range j.Choices {
		c := &j.Choices[k]
		m.Choice, m.Rule = c, j.rules[k]
		if c.On == 0 {
			m.On, m.To = -1, -1
			x.try(w, v, m)
			continue
		}
		targets(c.On, v, w, func(on int) {
			m.On, m.To = on, -1
			if c.To == 0 {
				x.try(w, v, m)
				return
			}
			targets(c.To, v, w, func(to int) {
				if to != on {
					m.To = to
					x.try(w, v, m)
				}
			})
		})
	}
}

func (x *expander) try(w *World, v *View, m Move) {
	after := *w
	o := x.act(&after, v, *m.Choice, m.On, m.To)
	if !o.done {
		return
	}
	after.settle()
	if m.Stepped && (o.breach == tooFewStay || o.breach == stillBalanced || o.breach == brokenFirst) {
		o.breach = "" // the step might as well have come right after
	}
	if o.breach == "" && !m.Stepped {
		o.breach = lossBreach(&after, x.hooksGetLost)
	}
	x.add(&after, o.breach, m)
}

func (x *expander) add(w *World, breach string, m Move) {
	x.out = append(x.out, successor{world: *w, progress: m.Progress(), breach: breach, move: m})
}
