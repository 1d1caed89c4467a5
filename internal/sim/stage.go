package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drover-project/drover/internal/model"
)

// Stage plays one story: a World whose servers have names, with the planner's
// own decisions and with steps that are chosen by what they say. Story files
// and random walks are played on it.
type Stage struct {
	World World

	rules
	actor
	decide Decider
	names  [MaxServers]string
	made   int
}

// NewStage begins with the first World of the options. Faults may happen as
// often as their budget allows.
func NewStage(o Options) *Stage {
	s := &Stage{World: o.begin()[0], rules: rules{deathInWindow: true, restarts: true, hooksGetLost: o.Budget[HookLoss] > 0}, decide: o.decider(), actor: actor{without: o.Without}}
	s.name()
	return s
}

// name gives new servers their names.
func (s *Stage) name() {
	for i, server := range s.World.Servers {
		switch {
		case server == 0:
			s.names[i] = ""
		case s.names[i] == "":
			s.made++
			s.names[i] = fmt.Sprintf("cp-%d", s.made)
		}
	}
}

// Servers describes every server in a line.
func (s *Stage) Servers() []string {
	var out []string
	for i, server := range s.World.Servers {
		if server != 0 {
			out = append(out, s.names[i]+": "+server.String())
		}
	}
	slices.Sort(out)
	if !s.World.Quorum() {
		out = append(out, "etcd has no quorum")
	}
	return out
}

// Steps are the steps that may happen now, with what they say.
func (s *Stage) Steps() ([]Step, []string) {
	steps := s.steps(nil, &s.World)
	texts := make([]string, 0, len(steps))
	for _, st := range steps {
		texts = append(texts, st.text(&s.names))
	}
	return steps, texts
}

// Happens lets the step happen that says exactly this. The error names the
// steps that may happen instead.
func (s *Stage) Happens(sentence string) error {
	steps, texts := s.Steps()
	at := slices.Index(texts, sentence)
	if at < 0 {
		return fmt.Errorf("%q can't happen now; what can: %s", sentence, strings.Join(texts, "; "))
	}
	return s.Apply(steps[at])
}

// Apply lets a step happen. The error is a broken invariant.
func (s *Stage) Apply(st Step) error {
	before := s.World
	s.World.Apply(st)
	s.name()
	if breach := s.stepBreach(st, &before, &s.World); breach != "" && !before.Lost() {
		return fmt.Errorf("%s", breach)
	}
	return nil
}

// view is what the controller sees, with the names the servers have. Machines
// are as old as their numbers say, and so are members.
func (s *Stage) view() (View, Names) {
	v := look(&s.World)
	var n Names
	n.Machine = s.names
	order := make([]int, MaxServers)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return s.age(a) - s.age(b) })
	for rank, i := range order {
		n.Rank[i], n.ID[i] = rank, rank
	}
	return v, n
}

// age is the number in a server's name.
func (s *Stage) age(i int) int {
	n := s.made + 1
	_, _ = fmt.Sscanf(s.names[i], "cp-%d", &n)
	return n
}

// Drover lets the controller decide and act once. It returns the decision and
// whether the action was carried out; the error is a broken invariant.
func (s *Stage) Drover() (model.Decision, bool, error) {
	v, n := s.view()
	d := s.decide(v.Snapshot(&n))
	if fault := check(&d, &v); fault != "" {
		return d, false, fmt.Errorf("%s", fault)
	}
	order := read(d.Action)
	if order.Verb == Nothing {
		return d, false, nil
	}
	on, to := order.places(n.machine, n.member)
	o := s.act(&s.World, &v, order.Choice, on, to)
	s.World.settle()
	s.name()
	if o.breach != "" {
		return d, o.done, fmt.Errorf("%s", o.breach)
	}
	return d, o.done, nil
}

// Run lets controller and surroundings take turns: the controller acts as long
// as it has something to do, then the first step happens that is progress. It
// tells everything, and ends when the telling contains until, when nothing
// happens any more, or after so many steps.
func (s *Stage) Run(until string, limit int, tell func(string)) error {
	for range limit {
		d, done, err := s.Drover()
		if err != nil {
			return err
		}
		var line string
		if done {
			line = "Drover: " + d.Action.Describe() + " (" + d.Rule + ")"
		} else {
			steps, texts := s.Steps()
			at := slices.IndexFunc(steps, Step.Progress)
			if at < 0 {
				return nil
			}
			line = texts[at]
			if err := s.Apply(steps[at]); err != nil {
				return err
			}
		}
		tell(line)
		if until != "" && strings.Contains(line, until) {
			return nil
		}
	}
	return fmt.Errorf("nothing is settled after %d steps", limit)
}

// Reached tells whether everything is as wished.
func (s *Stage) Reached() bool { return s.World.reached() }
