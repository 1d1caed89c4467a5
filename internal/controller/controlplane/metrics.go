package controlplane

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/report"
)

// instruments are the metrics. They are described in docs/operate/metrics.md.
type instruments struct {
	waits        *prometheus.GaugeVec
	waitsBegun   *prometheus.CounterVec
	settled      *prometheus.GaugeVec
	actions      *prometheus.CounterVec
	held         *prometheus.HistogramVec
	phases       *prometheus.HistogramVec
	removals     *prometheus.CounterVec
	members      *prometheus.GaugeVec
	membersKnown *prometheus.GaugeVec
	mayFail      *prometheus.GaugeVec
}

// measured are the metrics of this process.
var measured = newInstruments(metrics.Registry)

func newInstruments(to prometheus.Registerer) *instruments {
	of := []string{"namespace", "name"}
	i := &instruments{
		waits:        gauge("drover_wait", "1 for each rule under which a control plane waits now.", append(of, "rule")...),
		waitsBegun:   counter("drover_waits_total", "Waits that have begun, by rule.", "rule"),
		settled:      gauge("drover_settled", "1 while everything of a control plane is as wished, 0 otherwise.", of...),
		actions:      counter("drover_actions_total", "Actions by kind and outcome: done, refused (its ground was gone) or failed.", "kind", "outcome"),
		held:         histogram("drover_hook_held_seconds", "Time between core waiting for one of our deletion hooks and the hook being released.", "hook"),
		phases:       histogram("drover_leaving_phase_seconds", "Time that a server which leaves spent in a phase of its Machine's deletion.", "phase"),
		removals:     counter("drover_member_removals_total", "etcd members taken out, by path: asked of RKE2 or called through another voter, and by ground.", "path", "ground"),
		members:      gauge("drover_etcd_members", "etcd members by state: healthy, unhealthy, unasked (no answer either way) or joining.", append(of, "state")...),
		membersKnown: gauge("drover_etcd_members_known", "1 while etcd's member list can be read, 0 otherwise.", of...),
		mayFail:      gauge("drover_etcd_members_may_fail", "How many healthy voters may fail before the quorum is lost; negative when it is lost.", of...),
	}
	to.MustRegister(i.waits, i.waitsBegun, i.settled, i.actions, i.held, i.phases, i.removals, i.members, i.membersKnown, i.mayFail)
	return i
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// histogram has buckets from a release at once to a drain that takes hours.
func histogram(name, help, label string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 10800},
	}, []string{label})
}

// Paths of a member's removal.
const (
	byRKE2 = "rke2"
	byCall = "call"
)

// grounds are the names of the grounds of a removal in metrics.
var grounds = map[model.Ground]string{model.Drained: "drained", model.HostDead: "host_dead", model.NoMachine: "no_machine"}

// count counts an action; if it removes a member, by which path; and for the
// release of a hook, for how long core waited for it. Core keeps that time in
// whole seconds.
func (i *instruments) count(action model.Action, s model.Snapshot, err error) {
	i.actions.WithLabelValues(model.KindOf(action), string(result(err).State)).Inc()
	if err != nil {
		return
	}
	switch a := action.(type) {
	case model.AskForMemberRemoval:
		i.removals.WithLabelValues(byRKE2, grounds[model.Drained]).Inc()
	case model.RemoveMember:
		i.removals.WithLabelValues(byCall, grounds[a.Ground]).Inc()
	case model.ReleasePreDrainHook:
		i.observeHeld(s, a.Machine, "pre-drain", model.PhaseWaitingForPreDrain)
	case model.ReleasePreTerminateHook:
		i.observeHeld(s, a.Machine, "pre-terminate", model.PhaseWaitingForPreTerm)
	}
}

func (i *instruments) observeHeld(s model.Snapshot, machine, hook string, phase model.Phase) {
	m, ok := s.MachineByName(machine)
	if !ok || m.Phase != phase || m.PhaseSince.IsZero() {
		return
	}
	i.held.WithLabelValues(hook).Observe(max(0, s.Now.Sub(m.PhaseSince)).Round(time.Millisecond).Seconds())
}

// show sets what is true of a control plane now, and counts what has changed
// since the last look.
func (i *instruments) show(key client.ObjectKey, s model.Snapshot, d model.Decision, began []report.Begun, ended []report.Ended) {
	i.forget(key)
	for _, w := range d.Waits {
		i.waits.WithLabelValues(key.Namespace, key.Name, w.Rule).Set(1)
	}
	i.settled.WithLabelValues(key.Namespace, key.Name).Set(number(d.Settled()))
	for _, b := range began {
		i.waitsBegun.WithLabelValues(b.Rule).Inc()
	}
	for _, e := range ended {
		i.phases.WithLabelValues(string(e.Phase)).Observe(e.Took.Seconds())
	}
	if s.ControlPlane.ExternalDatastore {
		return
	}
	health := report.HealthOf(s)
	i.membersKnown.WithLabelValues(key.Namespace, key.Name).Set(number(health.Known))
	if !health.Known {
		return
	}
	for state, n := range map[string]int{"healthy": health.Healthy, "unhealthy": health.Unhealthy, "unasked": health.Unasked, "joining": health.Joining} {
		i.members.WithLabelValues(key.Namespace, key.Name, state).Set(float64(n))
	}
	i.mayFail.WithLabelValues(key.Namespace, key.Name).Set(float64(health.MayFail))
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// forget drops what was said of a control plane.
func (i *instruments) forget(key client.ObjectKey) {
	for _, g := range []*prometheus.GaugeVec{i.waits, i.settled, i.members, i.membersKnown, i.mayFail} {
		g.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
	}
}
