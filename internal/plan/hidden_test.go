package plan_test

import (
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// While etcd can't be asked, its members stop before they are off the list:
// those that are left have to be enough for that.
func TestHiddenEtcd(t *testing.T) {
	hidden := func(s *model.Snapshot) { s.ControlPlane.ExternalDatastore, s.ControlPlane.HiddenEtcd = true, true }
	const leave, change = "hidden_etcd_keeps_quorum", "hidden_etcd_is_opened_first"
	drained := deleting(1, model.PhaseWaitingForPreTerm)
	run(t, []tcase{
		{name: "settled", given: healthy(1, hidden), rule: plan.Settled},
		{name: "two of three are enough", given: healthy(3, hidden, surge(0), deleting(1, model.PhaseWaitingForPreDrain)), action: model.ExcludeFromLoadBalancers{Machine: "cp-1"}},
		{name: "also after the drain", given: healthy(3, hidden, drained), action: model.ReleasePreTerminateHook{Machine: "cp-1"}},
		{name: "one of two is not", given: healthy(2, hidden, replicas(1), deleting(1, model.PhaseWaitingForPreDrain)), rule: leave, blames: "cp"},
		{name: "after the drain neither", given: healthy(2, hidden, replicas(1), drained), rule: leave, blames: "cp"},
		{name: "one of three is not", given: healthy(3, hidden, notReady(3), drained), rule: leave, blames: "cp"},
		{name: "a joiner may vote already", given: healthy(2, hidden, replicas(1), joining(3), drained), rule: leave, blames: "cp"},
		{name: "one whose host went before it had a Node does not", given: healthy(3, hidden, joining(4), drained, machine(4, func(m *model.Machine) {
			m.InfrastructureReady, m.InfrastructureGone = true, model.Known(true, now)
		})), action: model.ReleasePreTerminateHook{Machine: "cp-1"}},
		{name: "one that never came does not", given: healthy(3, hidden, joining(4), drained, machine(4, func(m *model.Machine) {
			m.InfrastructureReady, m.Created = true, now.Add(-time.Hour)
		})), action: model.ReleasePreTerminateHook{Machine: "cp-1"}},
		{name: "one that does nothing any more may go", given: healthy(2, hidden, replicas(1), notReady(1), drained), action: model.ReleasePreTerminateHook{Machine: "cp-1"}},
		{name: "a single server is not replaced", given: healthy(1, hidden, outdated(1)), rule: change, blames: "cp"},
		{name: "nor do two become one", given: healthy(2, hidden, replicas(1)), rule: change, blames: "cp"},
		{name: "three become two", given: healthy(3, hidden, replicas(1)), action: model.DeleteMachine{Machine: "cp-1", Why: "there are more servers than wished"}},
		{name: "one becomes three", given: healthy(1, hidden, replicas(3), outdated(1)), action: model.CreateMachine{Purpose: model.ScaleUp}},
		{name: "two are upgraded", given: healthy(2, hidden, outdated(1, 2)), action: model.CreateMachine{Purpose: model.Surge}},
		{name: "with an external datastore a single server is replaced", given: healthy(1, external, outdated(1)), action: model.CreateMachine{Purpose: model.Surge}},
	})
}

// A single server whose etcd can't be asked is not replaced on anybody's word.
func TestHiddenEtcdIsNotRemediated(t *testing.T) {
	given := healthy(1, func(s *model.Snapshot) {
		s.ControlPlane.ExternalDatastore, s.ControlPlane.HiddenEtcd = true, true
		s.ControlPlane.Remediation.SingleServer = true
	}, marked(1))
	d := plan.Decide(given)
	if d.Action != nil || len(d.Waits) != 1 || d.Waits[0].Rule != plan.UnhealthyServerIsReplaced {
		t.Errorf("%+v", d)
	}
}
