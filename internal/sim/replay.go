package sim

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/drover-project/drover/internal/model"
)

// Replay follows what a real control plane did, and tells whether the model
// could have done the same. What a Snapshot does not show is not known, so a
// Replay holds every World that it may have been.
type Replay struct {
	rules
	actor
	decide Decider
	may    Budget

	seen   *Sighting
	worlds []World
	last   model.Decision
	looks  int
	done   []bool // whether the last action may have been carried out, and not
}

// NewReplay begins a Replay in which the given faults may have happened. The
// planner is the one that made the decisions, nil for the product's own.
func NewReplay(faults Budget, decide Decider) *Replay {
	r := &Replay{rules: rules{deathInWindow: true, restarts: true, hooksGetLost: true, upkeep: true, elections: true, nodesGoFirst: true}, may: faults, decide: Options{Decide: decide}.decider()}
	return r
}

// Gap is returned for what happened and the model can't do, or would not.
type Gap struct{ Reason string }

// Error implements error.
func (g Gap) Error() string { return g.Reason }

// Next goes on to the next observation, the decision on it, and whether the
// action may have been carried out and may not have been. The error is a Gap,
// or ErrNotModelled.
func (r *Replay) Next(s model.Snapshot, d model.Decision, mayDone, mayNot bool) error {
	if again := r.decide(s); !reflect.DeepEqual(again.Action, d.Action) || again.Rule != d.Rule {
		return Gap{fmt.Sprintf("the planner would decide otherwise today: %s, not %s", inWords(again), inWords(d))}
	}
	if r.seen == nil && s.ControlPlane.HiddenEtcd {
		return nil
	}
	next, err := Abstract(&s, r.seen)
	if err != nil {
		return err
	}
	if r.seen == nil && next.blind() {
		return nil
	}
	if r.seen == nil {
		r.worlds = next.guesses(r.may)
	} else if err := r.follow(next); err != nil {
		return err
	}
	r.looks++
	r.seen, r.last = next, d
	r.done = r.done[:0]
	if mayDone && d.Action != nil {
		r.done = append(r.done, true)
	}
	if mayNot || d.Action == nil {
		r.done = append(r.done, false)
	}
	return nil
}

// Outcome tells what has become of the action of the last decision, when that
// is known only after it was told to Next.
func (r *Replay) Outcome(mayDone, mayNot bool) {
	if r.seen == nil || r.last.Action == nil {
		return
	}
	r.done = r.done[:0]
	if mayDone {
		r.done = append(r.done, true)
	}
	if mayNot {
		r.done = append(r.done, false)
	}
}

// Followed is the number of observations that were followed. Those of a manager
// that has just started and has not reached etcd yet are passed over, and those
// from before an etcd that could not be asked was opened.
func (r *Replay) Followed() int { return r.looks }

// blind tells whether a manager has just come to a control plane that is there
// already, and has not reached it yet: nothing can be guessed from that.
func (o *Sighting) blind() bool {
	if o.View.External {
		return o.View.Initialized && o.View.WorkloadUnknown
	}
	return o.View.Initialized && o.View.EtcdUnknown
}

func inWords(d model.Decision) string {
	if d.Action == nil {
		return "nothing (" + d.Rule + ")"
	}
	return d.Action.Describe() + " (" + d.Rule + ")"
}

// guesses are the Worlds that a first Sighting may be: what can't be seen is
// taken to be well, unless something looks otherwise.
func (o *Sighting) guesses(may Budget) []World {
	begin := World{Replicas: o.View.Replicas, Surge: o.View.Surge, Initialized: o.View.Initialized, WholeDeleted: o.View.WholeDeleted, External: o.View.External, Left: may}
	direct := begin
	direct.Direct = true
	worlds := []World{begin, direct}
	for i, sight := range o.View.Servers {
		if sight == 0 {
			continue
		}
		if o.View.External && sight.server().has(NodeRef) {
			sight |= Sight(Voter) << memberAt // it has joined, which nobody sees
		}
		var next []World
		for _, s := range sight.guesses() {
			for _, w := range worlds {
				w.Servers[i] = s
				next = append(next, w)
			}
		}
		worlds = next
	}
	for i := range worlds {
		worlds[i].settle()
	}
	return worlds
}

func (s Sight) guesses() []Server {
	well := s.server()
	flag(&well, Joined, well.listed() || well.has(NodeRef))
	switch {
	case s&hostIsGone != 0:
		well.setHost(Gone)
	case well.has(Provisioned) || well.unclaimed():
		well.setHost(Up)
	default:
	}
	if well.Host() != Up || well.Node() == Ready || well.Node() == NoNode && !well.has(NodeRef) {
		return []Server{well}
	}
	out := []Server{well}
	for _, host := range []HostState{Frozen, Dead} {
		other := well
		other.setHost(host)
		out = append(out, other)
	}
	for _, f := range []Server{TornDown, Corrupt, KubeletDead} {
		out = append(out, well|f)
	}
	return out
}

// follow finds the Worlds that look like the Sighting and can come of those
// before it.
func (r *Replay) follow(next *Sighting) error {
	var from []World
	for _, w := range r.worlds {
		for _, done := range r.done {
			if after, ok := r.after(w, done); ok {
				from = append(from, after)
			}
		}
	}
	if len(from) == 0 {
		return Gap{fmt.Sprintf("the model would have refused to %s", r.last.Action.Describe())}
	}
	found := r.search(from, next)
	if len(found) == 0 {
		found = r.search(r.lateActions(), next)
	}
	if len(found) == 0 {
		found = r.searchMixed(from, next)
	}
	if len(found) == 0 {
		return Gap{"the model can't get from\n" + r.seen.words() + "\nto\n" + next.words()}
	}
	r.worlds = found
	return nil
}

// lateActions are the Worlds in which something happened between the
// observation and the action that rests on it.
func (r *Replay) lateActions() []World {
	var out []World
	for _, w := range r.worlds {
		for _, st := range r.steps(nil, &w) {
			later := w
			later.Apply(st)
			if after, ok := r.after(later, true); ok && slices.Contains(r.done, true) {
				out = append(out, after)
			}
		}
	}
	return out
}

// after is a World after the last action, if that was carried out.
func (r *Replay) after(w World, done bool) (World, bool) {
	if !done {
		return w, true
	}
	order := read(r.last.Action)
	if order.Verb == Finish {
		return w, true
	}
	on, to := order.places(
		func(name string) int { return slices.Index(r.seen.Names[:], name) },
		func(id uint64) int { return slices.Index(r.seen.IDs[:], id) },
	)
	view := r.seen.View
	ok := r.act(&w, &view, order.Choice, on, to).done
	w.settle()
	return w, ok
}

// words describe what was seen.
func (o *Sighting) words() string {
	var out []string
	for i, s := range o.View.Servers {
		if s != 0 {
			out = append(out, "  "+o.Names[i]+": "+s.words())
		}
	}
	if o.View.EtcdUnknown {
		out = append(out, "  etcd could not be read")
	}
	return strings.Join(out, "\n")
}

func (s Sight) words() string {
	text := strings.ReplaceAll(s.server().String(), ", host being made", "")
	return text + [...]string{"", ", answers", ", does not answer"}[s.answers()]
}

// IsGap tells whether an error is a Gap.
func IsGap(err error) bool {
	var g Gap
	return errors.As(err, &g)
}
