package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/drover-project/drover/internal/model"
)

// Forecast is what would happen to a control plane from now on if nothing
// failed and nobody intervened.
type Forecast struct {
	// Events are all steps, in order.
	Events []Event `json:"events"`
	// Totals sums them up.
	Totals Totals `json:"totals"`
	// Settled: in the end everything is as wished. Gone: in the end the control
	// plane does not exist any more.
	Settled bool `json:"settled"`
	Gone    bool `json:"gone,omitzero"`
	// Waits are what is waited for in the end, when nothing that happens by
	// itself would end it.
	Waits []model.Wait `json:"waits,omitzero"`
}

// Event is one step of a Forecast.
type Event struct {
	// Server is the Machine that it is about; one that does not exist yet is
	// called new-1, new-2 and so on. Empty for the control plane itself.
	Server string `json:"server,omitzero"`
	// By is who does it: Drover, core, infrastructure, RKE2, others or time.
	By string `json:"by"`
	// Text is the step in a sentence without a full stop.
	Text string `json:"text"`
	// Rule is the planner's rule, for what Drover does.
	Rule string `json:"rule,omitzero"`
}

// Totals are the numbers of a Forecast.
type Totals struct {
	Created  int `json:"created"`
	Deleted  int `json:"deleted"`
	Replaced int `json:"replaced"`
	// AskedRKE2 are the members that RKE2 is asked to remove, MemberCalls those
	// removed by a call to another voter.
	AskedRKE2   int `json:"askedRKE2"`
	MemberCalls int `json:"memberCalls"`
	LeaderMoves int `json:"leaderMoves"`
}

// Errors of a Forecast.
var (
	// ErrUnseen is returned when too little is known to begin with.
	ErrUnseen = errors.New("there is nothing to forecast from")
	// ErrEndless is returned when nothing settles.
	ErrEndless = errors.New("nothing settles")
)

// Foresee lets the planner and a model of its surroundings in which nothing
// fails take turns, from a Snapshot on. A nil planner is the product's own.
func Foresee(s model.Snapshot, decide Decider) (*Forecast, error) {
	f, err := newForecaster(s, Options{Decide: decide}.decider())
	if err != nil {
		return nil, err
	}
	seen := map[World]bool{}
	for limit := 100 * (1 + len(s.Machines) + s.ControlPlane.Replicas); limit > 0; limit-- {
		if seen[f.world] {
			return nil, fmt.Errorf("%w: after %d steps it goes round in circles", ErrEndless, len(f.out.Events))
		}
		seen[f.world] = true
		view, snapshot := f.look()
		d := f.decide(snapshot)
		if d.Settled() {
			f.out.Settled = true
			break
		}
		if _, gone := d.Action.(model.FinishDeletion); gone {
			f.tell(Event{By: drover, Text: d.Action.Describe(), Rule: d.Rule})
			f.out.Gone = true
			break
		}
		if f.drover(&view, d) || f.surroundings() {
			continue
		}
		if d.Action != nil {
			return nil, fmt.Errorf("%w: Drover would %s, and the model refuses it", ErrEndless, d.Action.Describe())
		}
		f.out.Waits = d.Waits
		break
	}
	if !f.out.Settled && !f.out.Gone && f.out.Waits == nil {
		return nil, fmt.Errorf("%w after %d steps", ErrEndless, len(f.out.Events))
	}
	f.out.Totals.Replaced = min(f.out.Totals.Created, f.out.Totals.Deleted)
	return &f.out, nil
}

// Who does a step of a Forecast.
const (
	drover         = "Drover"
	core           = "core"
	infrastructure = "infrastructure"
	rke2           = "RKE2"
	others         = "others"
	timePasses     = "time"
)

// doers are those of the steps that happen by themselves; others for the rest.
var doers = map[Kind]string{
	CoreBegins: core, CoreDrains: core, CoreFinishesDrain: core, CoreComesBack: core, CorePassesHooks: core, MachineGone: core,
	HostDestroyed: infrastructure, HostProvisioned: infrastructure,
	StartsCluster: rke2, BecomesLearner: rke2, MemberStarts: rke2, MemberPromoted: rke2, NodeRegisters: rke2, FirstAnswer: rke2,
	PodsTornDown: rke2, RKE2RemovesMember: rke2, NodeGoes: rke2, NodeTurnsReady: rke2, LeaderElected: rke2,
	NodeTurnsNotReady: timePasses, SilenceLasts: timePasses, LoadBalancersSettle: timePasses, AskingLasts: timePasses, OrphanAges: timePasses,
	UpkeepBringsHooks: drover,
}

// Steps that a world without failures does only when nothing better can happen,
// and never.
var (
	lastResort = []Kind{NodeTurnsNotReady, SilenceLasts, PodsTornDown, AskingLasts, OrphanAges}
	misfortune = []Kind{CoreFindsNode, JoinTakesLong, StalledLearnerEvicted, HealthCheckMarks, HealthCheckUnmarks}
)

// drover carries out the action of a decision. It is false when there is none,
// or when it changes nothing.
func (f *forecaster) drover(view *View, d model.Decision) bool {
	order := read(d.Action)
	if order.Verb == Nothing {
		return false
	}
	on, to := order.places(
		func(name string) int { return slices.Index(f.names[:], name) },
		func(id uint64) int { return slices.Index(f.ids[:], id) },
	)
	e := Event{By: drover, Text: d.Action.Describe(), Rule: d.Rule}
	if on >= 0 {
		e.Server = f.names[on]
	}
	if f.external && order.Verb == ReleasePreTerminate {
		f.world.Servers[on].setMember(NoMember)
	}
	if !f.act(&f.world, view, order.Choice, on, to).done {
		return false
	}
	f.world.settle()
	if created, ok := d.Action.(model.CreateMachine); ok {
		e.Server = f.name(created.FailureDomain)
		e.Text += ": " + e.Server
	}
	f.sum(order.Verb)
	f.tell(e)
	f.forget()
	return true
}

func (f *forecaster) sum(v Verb) {
	t := &f.out.Totals
	switch v {
	case Create:
		t.Created++
	case Delete:
		t.Deleted++
	case AskRemoval:
		t.AskedRKE2++
	case RemoveMember:
		t.MemberCalls++
	case MoveLeader:
		t.LeaderMoves++
	default:
	}
}

// surroundings lets the best thing happen that can. It is false when nothing
// can.
func (f *forecaster) surroundings() bool {
	steps := slices.DeleteFunc(f.steps(nil, &f.world), func(st Step) bool {
		return !st.Progress() || slices.Contains(misfortune, st.Kind)
	})
	if len(steps) == 0 {
		return false
	}
	st := steps[0]
	if i := slices.IndexFunc(steps, func(st Step) bool { return !slices.Contains(lastResort, st.Kind) }); i >= 0 {
		st = steps[i]
	}
	// A step has a second variant where it matters who removes members.
	if other := (Step{Kind: st.Kind, Server: st.Server, Variant: 1}); f.removes(st) && slices.Contains(steps, other) {
		st = other
	}
	e := Event{By: doers[st.Kind], Text: st.text(&f.names)}
	if e.By == "" {
		e.By = others
	}
	if st.Server >= 0 {
		e.Server = f.names[st.Server]
	}
	f.world.Apply(st)
	if !f.external || !slices.Contains(membership, st.Kind) {
		f.tell(e)
	}
	f.forget()
	return true
}

// membership are the steps that there are only with members of etcd.
var membership = []Kind{BecomesLearner, MemberStarts, MemberPromoted, LeaderElected}

func (f *forecaster) tell(e Event) { f.out.Events = append(f.out.Events, e) }
