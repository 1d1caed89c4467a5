package explain

import (
	"slices"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// State is how a control plane stands, in one word.
type State string

// The states.
const (
	// Settled: everything is as wished.
	Settled State = "settled"
	// InProgress: something is done, or is waited for that ends by itself.
	InProgress State = "in progress"
	// HeldUp: nothing goes on until somebody does something.
	HeldUp State = "held up"
	// Paused: nothing is done because somebody asked for that.
	Paused State = "paused"
)

// Input is what an Explanation is made from.
type Input struct {
	// Snapshot and Decision are what was seen and what the planner makes of it.
	Snapshot model.Snapshot
	Decision model.Decision
	// Obstacles are what else was found to hold up Machines.
	Obstacles []model.Obstacle
	// Denied are the permissions that were missing on the way.
	Denied []model.Denied
	// Blind says why etcd or the workload cluster could not be looked into from
	// here; empty when they were. What is waited for is then what Reported says.
	Blind string
	// Reported is what the controller itself reported last.
	Reported Reported
	// Paused are the fields and annotations that pause the control plane, each
	// with since when, if that is known.
	Paused []string
}

// Reported is what stands in the conditions of the control plane.
type Reported struct {
	// Waits are the waits that can be read in them.
	Waits []model.Wait
	// Failures are actions that failed.
	Failures []string
	// Settled: none of them says that something is being changed.
	Settled bool
	// Health are the conditions about etcd and components that are not good.
	Health []string
}

// Explanation is what is told about a control plane.
type Explanation struct {
	Namespace    string    `json:"namespace"`
	Cluster      string    `json:"cluster"`
	ControlPlane string    `json:"controlPlane"`
	Version      string    `json:"version"`
	Now          time.Time `json:"now"`
	State        State     `json:"state"`
	// Doing is what happens, in a phrase.
	Doing string `json:"doing"`
	// Servers counts them.
	Servers Servers `json:"servers"`
	// Leaving is the server on its way out, nil for none.
	Leaving *Leaving `json:"leaving,omitzero"`
	// Action is what is done next, and Rule why; empty while something is waited
	// for.
	Action string `json:"action,omitzero"`
	Rule   string `json:"rule,omitzero"`
	// Waits are what is waited for, the deciding one first. Machines that wait
	// for their turn are in Leaving.
	Waits []Wait `json:"waits,omitzero"`
	// Obstacles are who blocks the Machines that are held up.
	Obstacles []model.Obstacle `json:"obstacles,omitzero"`
	// Next is what comes then, Options what an operator can do.
	Next    string   `json:"next"`
	Options []string `json:"options,omitzero"`
	// Quorum says how etcd stands.
	Quorum string `json:"quorum,omitzero"`
	// Troubled are the members that are not known to work.
	Troubled []Row `json:"troubledMembers,omitzero"`
	// Broken are Nodes and static pods of servers that do not work.
	Broken []string `json:"broken,omitzero"`
	// Paused, Failures, Blind and Denied are as in Input.
	Paused   []string       `json:"paused,omitzero"`
	Failures []string       `json:"failures,omitzero"`
	Health   []string       `json:"health,omitzero"`
	Blind    string         `json:"blind,omitzero"`
	Denied   []model.Denied `json:"denied,omitzero"`
}

// Servers counts the servers.
type Servers struct {
	Wished   int `json:"wished"`
	Present  int `json:"present"`
	UpToDate int `json:"upToDate"`
	Leaving  int `json:"leaving"`
	// Rollout is the number of the server that is being replaced, of Wished; 0
	// when none is outdated.
	Rollout int `json:"rollout,omitzero"`
}

// Wait is one wait with what is known of its rule.
type Wait struct {
	model.Wait
	// Why is what would go wrong without the rule.
	Why string `json:"why,omitzero"`
}

// Explain makes the Explanation.
func Explain(in Input) Explanation {
	s, d := in.Snapshot, in.Decision
	in.Obstacles = slices.Concat(foreignHooks(s), in.Obstacles)
	if in.Blind != "" {
		d = reportedDecision(in.Reported, d)
	}
	e := Explanation{
		Namespace: s.ControlPlane.Namespace, Cluster: s.Cluster.Name, ControlPlane: s.ControlPlane.Name, Version: s.ControlPlane.Version,
		Now: s.Now, Servers: count(s), Leaving: leaving(s, d), Obstacles: in.Obstacles, Quorum: quorumLine(s), Troubled: troubled(s), Broken: broken(s),
		Paused: in.Paused, Failures: in.Reported.Failures, Blind: in.Blind, Denied: in.Denied,
	}
	if in.Blind != "" {
		e.Health = in.Reported.Health
	}
	why := map[string]string{}
	for _, r := range plan.Rules() {
		why[r.Name] = r.Why
	}
	for _, w := range d.Waits {
		if w.Rule != plan.OneServerLeavesAtATime {
			e.Waits = append(e.Waits, Wait{Wait: w, Why: why[w.Rule]})
		}
	}
	if d.Action != nil {
		e.Action, e.Rule = d.Action.Describe(), d.Rule
	}
	e.State = state(in, d, e)
	e.Doing = doing(s, d, e)
	e.Next, e.Options = next(d, e.State)
	return e
}

// reportedDecision is the controller's own decision, as far as its conditions
// tell: it can see what can't be seen from here.
func reportedDecision(r Reported, own model.Decision) model.Decision {
	switch {
	case len(r.Waits) > 0:
		return model.Decision{Rule: r.Waits[0].Rule, Waits: r.Waits}
	case r.Settled:
		return model.Decision{Rule: plan.Settled}
	default:
		return own
	}
}

// count counts servers. A rollout goes on as long as one is outdated.
func count(s model.Snapshot) Servers {
	out := Servers{Wished: s.ControlPlane.Replicas, Present: len(s.Machines)}
	outdated, leavesOutdated := 0, false
	for _, m := range s.Machines {
		switch {
		case m.Deleting:
			out.Leaving++
			leavesOutdated = leavesOutdated || !m.UpToDate()
		case m.UpToDate():
			out.UpToDate++
		default:
			outdated++
		}
	}
	if s.ControlPlane.Deleting || s.Cluster.Deleting {
		out.Wished = 0
		return out
	}
	switch {
	case leavesOutdated:
		out.Rollout = max(1, out.Wished-outdated)
	case outdated > 0:
		out.Rollout = max(1, out.Wished-outdated+1)
	}
	return out
}

func doing(s model.Snapshot, d model.Decision, e Explanation) string {
	switch {
	case s.ControlPlane.Deleting || s.Cluster.Deleting:
		return "the whole control plane is being deleted"
	case !s.ControlPlane.Initialized:
		return "the first server starts the cluster"
	case e.Servers.Rollout > 0:
		return "rolling out"
	case e.Servers.Present-e.Servers.Leaving < e.Servers.Wished:
		return "scaling up"
	case e.Servers.Leaving > 0, e.Servers.Present > e.Servers.Wished:
		return "scaling down"
	case d.Settled() && e.State != Settled:
		return "nothing is to be changed, but not every server works"
	case d.Settled():
		return "everything is as wished"
	case d.Action == nil && len(e.Waits) > 0 && e.Waits[0].Rule == "one_server_joins_at_a_time":
		return "a server joins"
	default:
		return "something is to be put in order"
	}
}

// foreignHooks are the hooks of others that core waits for now.
func foreignHooks(s model.Snapshot) []model.Obstacle {
	var out []model.Obstacle
	for _, m := range s.Machines {
		switch {
		case !m.Deleting:
		case m.Phase == model.PhaseWaitingForPreDrain:
			out = append(out, hookObstacles(m, "pre-drain.delete.hook.machine.cluster.x-k8s.io", m.ForeignPreDrain)...)
		case m.Phase == model.PhaseWaitingForPreTerm:
			out = append(out, hookObstacles(m, "pre-terminate.delete.hook.machine.cluster.x-k8s.io", m.ForeignPreTerminate)...)
		}
	}
	return out
}

func hookObstacles(m model.Machine, prefix string, hooks []model.Hook) []model.Obstacle {
	var out []model.Obstacle
	for _, h := range hooks {
		owner := "its value names no owner"
		if h.Owner != "" {
			owner = "its owner is " + h.Owner
		}
		out = append(out, model.Obstacle{
			Machine: m.Name, Kind: "annotation", Name: prefix + "/" + h.Name, Why: "a deletion hook of somebody else; " + owner,
			Since: m.PhaseSince, Stuck: true, Unblock: "it ends when its owner removes the annotation",
		})
	}
	return out
}

// next is what comes then and what can be done, by the deciding rule.
func next(d model.Decision, s State) (string, []string) {
	entry := Of(d.Rule)
	if d.Settled() && s == HeldUp {
		return "a change is begun only when every server works", Of(healthRule).Options
	}
	if len(d.Waits) > 0 && d.Action == nil {
		entry = Of(d.Waits[0].Rule)
	}
	if s == Paused {
		return "nothing, until the pause is taken off", []string{"take off what pauses it: spec.paused of the Cluster, or the annotation cluster.x-k8s.io/paused"}
	}
	return entry.Next, entry.Options
}
