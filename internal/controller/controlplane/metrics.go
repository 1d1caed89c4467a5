package controlplane

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/drover-project/drover/internal/model"
)

var (
	waits = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "drover_wait",
		Help: "1 for each rule under which a control plane waits now.",
	}, []string{"namespace", "name", "rule"})

	actions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "drover_actions_total",
		Help: "Actions by kind and outcome: done, refused (its ground was gone) or failed.",
	}, []string{"kind", "outcome"})

	held = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "drover_hook_held_seconds",
		Help:    "Time between core waiting for one of our deletion hooks and the hook being released.",
		Buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800},
	}, []string{"hook"})
)

func init() { metrics.Registry.MustRegister(waits, actions, held) }

// count counts an action and, for the release of a hook, for how long core
// waited for it. Core keeps that time in whole seconds.
func count(action model.Action, s model.Snapshot, err error) {
	actions.WithLabelValues(model.KindOf(action), string(result(err).State)).Inc()
	if err != nil {
		return
	}
	switch a := action.(type) {
	case model.ReleasePreDrainHook:
		observeHeld(s, a.Machine, "pre-drain", model.PhaseWaitingForPreDrain)
	case model.ReleasePreTerminateHook:
		observeHeld(s, a.Machine, "pre-terminate", model.PhaseWaitingForPreTerm)
	}
}

func observeHeld(s model.Snapshot, machine, hook string, phase model.Phase) {
	m, ok := s.MachineByName(machine)
	if !ok || m.Phase != phase || m.PhaseSince.IsZero() {
		return
	}
	held.WithLabelValues(hook).Observe(max(0, s.Now.Sub(m.PhaseSince)).Round(time.Millisecond).Seconds())
}

func showWaits(key client.ObjectKey, d model.Decision) {
	forgetWaits(key)
	for _, w := range d.Waits {
		waits.WithLabelValues(key.Namespace, key.Name, w.Rule).Set(1)
	}
}

func forgetWaits(key client.ObjectKey) {
	waits.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}
