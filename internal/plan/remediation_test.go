package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// marked lets a health check want a Machine replaced.
func marked(i int) change {
	return machine(i, func(m *model.Machine) { m.Unhealthy = &model.Mark{Since: ago(time.Minute), Why: "Node not Ready"} })
}

// notReady makes only the Node silent for long; the member works.
func notReady(i int) change {
	return machine(i, func(m *model.Machine) { m.Node.Value.Ready, m.Node.Value.ReadySince = model.Unclear, ago(time.Hour) })
}

// replaces makes a Machine the replacement of another, made some time ago.
func replaces(i int, age time.Duration, retry int) change {
	return machine(i, func(m *model.Machine) {
		m.RemediationFor = &model.Remediation{Machine: "cp-old", At: ago(age), Retry: retry}
	})
}

// limits are the user's.
func limits(maxRetry int, retryPeriod time.Duration) change {
	return func(s *model.Snapshot) {
		p := model.RemediationPolicy{RetryPeriod: retryPeriod, MinHealthyPeriod: time.Hour}
		if maxRetry >= 0 {
			p.MaxRetry = &maxRetry
		}
		s.ControlPlane.Remediation = p
	}
}

func singleServer(s *model.Snapshot) { s.ControlPlane.Remediation.SingleServer = true }

func external(s *model.Snapshot) {
	s.ControlPlane.ExternalDatastore = true
	membersUnknown(s)
}

// remediate is the deletion of cp-i as the n-th retry.
func remediate(i string, retry int) model.Action {
	return model.DeleteMachine{Machine: "cp-" + i, Why: "its health check failed: Node not Ready", Remediate: true, Retry: retry}
}

const remediation = plan.UnhealthyServerIsReplaced

func TestRemediation(t *testing.T) {
	run(t, []tcase{
		{name: "a dead server", given: healthy(3, dead(2), marked(2)), action: remediate("2", 0), rule: remediation},
		{name: "a dead server nobody marked", given: healthy(3, dead(2)), rule: plan.Settled},
		{name: "a server whose Node is not Ready and whose member works", given: healthy(3, notReady(2), marked(2)), action: remediate("2", 0)},
		{name: "a dead server although another one leaves", given: healthy(4, replicas(3), dead(2), marked(2), deleting(1, model.PhaseDraining)), action: remediate("2", 0)},
		{name: "a dead server although another one joins", given: healthy(4, replicas(5), dead(2), marked(2), joining(5)), action: remediate("2", 0)},
		{name: "a working server waits for one that leaves", given: healthy(4, replicas(3), marked(2), notReady(2), deleting(1, model.PhaseDraining)), rule: "drain_comes_before_member", blames: "cp-1"},
		{name: "a working server waits for one that joins", given: healthy(3, replicas(4), notReady(2), marked(2), joining(4)), rule: "one_server_joins_at_a_time", blames: "cp-4"},
		{name: "no quorum, no removal", given: healthy(3, dead(1), dead(2), marked(1), marked(2), func(s *model.Snapshot) { s.Etcd.Members.Value[2].Leader = true }), rule: plan.Settled, blames: "node-cp-1-0000000a"},
		{name: "members unknown", given: healthy(3, dead(2), marked(2), membersUnknown), rule: "one_server_joins_at_a_time", blames: "demo"},
		{name: "two of five are dead: the older first", given: healthy(5, dead(2), dead(4), marked(2), marked(4)), action: remediate("2", 0)},
		{name: "two of five are dead: the second while the first leaves", given: healthy(5, dead(2), dead(4), marked(4), deleting(2, model.PhaseDraining), removed(2)), action: remediate("4", 0)},
		{name: "the one the user wants first", given: healthy(5, dead(2), dead(4), marked(2), marked(4), machine(4, func(m *model.Machine) { m.Unhealthy.First = true })), action: remediate("4", 0)},
		{name: "a broken member before a Node that is not Ready", given: healthy(5, notReady(2), dead(4), marked(2), marked(4)), action: remediate("4", 0)},
		{name: "one that never became a server before all others", given: healthy(5, dead(2), marked(2), machine(4, func(m *model.Machine) { m.NodeName = "" }), silent(4), marked(4)), action: remediate("4", 0)},
		{name: "one that never joined", given: healthy(3, replicas(4), joining(4), machine(4, func(m *model.Machine) { m.Created, m.InfrastructureReady = ago(time.Hour), true }), marked(4)), action: remediate("4", 0)},
		{name: "one whose member is off the list", given: healthy(3, notReady(2), marked(2), removed(2)), action: remediate("2", 0)},
		{name: "one whose member may be the one without a Machine waits for its turn", given: healthy(4, replicas(3), notReady(2), marked(2), deleting(1, model.PhaseDraining), member(2, func(m *model.Member) {
			m.Machine, m.UnmatchedSince = "", now
		})), rule: "drain_comes_before_member", blames: "cp-1"},
		{name: "a healthy one that is marked waits for the broken one", given: healthy(3, dead(2), marked(3)), rule: plan.Settled, blames: "cp-2"},
		{name: "and for one that may turn out to be broken, although servers are missing", given: healthy(2, replicas(3), machine(2, func(m *model.Machine) {
			m.Node.Value.Ready, m.Node.Value.ReadySince = model.Unclear, ago(time.Second)
		}), marked(1)), action: model.CreateMachine{Purpose: model.ScaleUp}},
		{name: "two whose Nodes are not Ready do not wait for each other", given: healthy(3, notReady(1), notReady(2), marked(1), marked(2)), action: remediate("1", 0)},
		{name: "the only server stays", given: healthy(1, notReady(1), marked(1)), rule: plan.Settled, blames: "cp"},
		{name: "the only server, allowed, while its member works", given: healthy(1, notReady(1), marked(1), singleServer), action: remediate("1", 0)},
		{name: "the only server, allowed, with a dead member: the data would go", given: healthy(1, dead(1), marked(1), singleServer), rule: plan.Settled, blames: "node-cp-1-0000000a"},
		{name: "before there are data the first server is replaced", given: healthy(0, replicas(3), joining(1), marked(1), membersUnknown, func(s *model.Snapshot) {
			s.ControlPlane.Initialized = false
		}), action: remediate("1", 0)},
		{name: "external datastore", given: healthy(3, external, notReady(2), marked(2)), action: remediate("2", 0)},
		{name: "external datastore, nobody else works", given: healthy(2, external, notReady(1), notReady(2), marked(2)), rule: plan.Settled, blames: "cp"},
		{name: "external datastore, only one that waits for it works", given: healthy(2, external, replicas(1), deleting(1, model.PhaseWaitingForPreDrain), notReady(2), marked(2)), action: remediate("2", 0)},
		{name: "external datastore, that one has never joined", given: healthy(1, external, deleting(1, model.PhaseWaitingForPreDrain), joining(2), machine(2, func(m *model.Machine) {
			m.InfrastructureReady, m.Created = true, ago(model.JoinTime)
		}), marked(2)), action: remediate("2", 0)},
		{name: "external datastore, no API server answers, and this one has never come", given: healthy(1, external, deleting(1, model.PhaseWaitingForPreDrain), machine(1, func(m *model.Machine) {
			m.Node = model.Unknown[model.Node]("no API server", now)
		}), joining(2), machine(2, func(m *model.Machine) {
			m.InfrastructureReady, m.Created = true, ago(model.JoinTime)
		}), marked(2)), action: remediate("2", 0)},
		{name: "external datastore, it may still join", given: healthy(1, external, deleting(1, model.PhaseWaitingForPreDrain), joining(2), machine(2, func(m *model.Machine) {
			m.InfrastructureReady = true
		}), marked(2)), rule: "replacement_before_drain", blames: "cp-2"},
		{name: "external datastore, nobody else works, allowed", given: healthy(1, external, notReady(1), marked(1), singleServer), action: remediate("1", 0)},
		{name: "everything is being deleted", given: healthy(3, dead(2), marked(2), func(s *model.Snapshot) { s.Cluster.Deleting = true }), action: model.DropHooks{Machine: "cp-1"}},
	})
}

func TestRemediationLimits(t *testing.T) {
	broken := func(changes ...change) model.Snapshot {
		return healthy(3, append([]change{dead(2), marked(2)}, changes...)...)
	}
	run(t, []tcase{
		{name: "a replacement that fails at once is the first retry", given: broken(limits(-1, 0), replaces(2, time.Minute, 0)), action: remediate("2", 1)},
		{name: "and so on without end", given: broken(limits(-1, 0), replaces(2, time.Minute, 41)), action: remediate("2", 42)},
		{name: "within the limit", given: broken(limits(2, 0), replaces(2, time.Minute, 1)), action: remediate("2", 2)},
		{name: "at the limit", given: broken(limits(2, 0), replaces(2, time.Minute, 2)), rule: plan.Settled, blames: "cp-2"},
		{name: "no retries at all", given: broken(limits(0, 0), replaces(2, time.Minute, 0)), rule: plan.Settled, blames: "cp-2"},
		{name: "the first failure is no retry", given: broken(limits(0, 0)), action: remediate("2", 0)},
		{name: "long healthy: a new failure", given: broken(limits(0, 0), replaces(2, 2*time.Hour, 7)), action: remediate("2", 0)},
		{name: "too soon", given: broken(limits(-1, 10*time.Minute), replaces(2, time.Minute, 0)), rule: plan.Settled, blames: "cp-2"},
		{name: "no more too soon", given: broken(limits(-1, 10*time.Minute), replaces(2, 11*time.Minute, 0)), action: remediate("2", 1)},
		{name: "a long retry period counts as long as the healthy one", given: broken(limits(-1, 3*time.Hour), replaces(2, 2*time.Hour, 0)), rule: plan.Settled, blames: "cp-2"},
	})
}

// What an unhealthy server waits for ends at a known time, by a person, or by
// something that is looked at again.
func TestRemediationWaits(t *testing.T) {
	d := plan.Decide(healthy(3, dead(2), marked(2), limits(-1, 10*time.Minute), replaces(2, 4*time.Minute, 0)))
	if len(d.Waits) != 1 || d.Waits[0].Recheck != 6*time.Minute || d.Waits[0].Operator {
		t.Errorf("%+v", d.Waits)
	}
	d = plan.Decide(healthy(3, dead(2), marked(2), limits(1, 0), replaces(2, 4*time.Minute, 1)))
	if len(d.Waits) != 1 || !d.Waits[0].Operator || d.Waits[0].Rule != remediation || d.Waits[0].Machine != "cp-2" {
		t.Errorf("%+v", d.Waits)
	}
}

// Waiting to be replaced holds up nothing else.
func TestUnhealthyServersDoNotStopOthers(t *testing.T) {
	d := plan.Decide(healthy(4, replicas(3), limits(0, 0), marked(2), replaces(2, time.Minute, 0), deleting(1, model.PhaseWaitingForPreDrain), excluded(1, time.Minute)))
	if want := (model.ReleasePreDrainHook{Machine: "cp-1"}); d.Action != want {
		t.Errorf("%+v", d)
	}
	if len(d.Waits) != 1 || d.Waits[0].Rule != remediation {
		t.Errorf("%+v", d.Waits)
	}
}

func TestBrokenSurplusGoesFirst(t *testing.T) {
	gone := model.DeleteMachine{Machine: "cp-3", Why: "there are more servers than wished, and its host is dead"}
	run(t, []tcase{
		{name: "scale down by the dead one", given: healthy(3, replicas(2), dead(3)), action: gone, rule: "broken_surplus_goes_first"},
		{name: "not for a moment's silence", given: healthy(3, replicas(2), silent(3)), rule: "control_plane_is_healthy", blames: "cp-3"},
		{name: "not when the others have no quorum", given: healthy(3, replicas(2), dead(2), dead(3)), blames: "cp-2"},
		{name: "not a server that is wished", given: healthy(3, dead(3)), rule: plan.Settled},
	})
}

func TestEtcdHop(t *testing.T) {
	to := func(version string) change {
		return func(s *model.Snapshot) {
			s.ControlPlane.Version = version
			for i := range s.Machines {
				s.Machines[i].Outdated = []string{"version"}
			}
		}
	}
	at := func(i int, release, etcd string) change {
		return func(s *model.Snapshot) { s.Machines[i-1].Version, s.Etcd.Members.Value[i-1].Version = release, etcd }
	}
	all := func(release, etcd string) change {
		return func(s *model.Snapshot) {
			for i := range s.Machines {
				at(i+1, release, etcd)(s)
			}
		}
	}
	const hop = "etcd_hop_is_bridged"
	surge := model.CreateMachine{Purpose: model.Surge}
	run(t, []tcase{
		{name: "3.5.21 to 3.6, by the members' own word", given: healthy(3, to("v1.33.12+rke2r1"), all("v1.33.6+rke2r1", "3.5.21")), rule: hop, blames: "cp"},
		{name: "by the release, where no member could be asked", given: healthy(3, to("v1.34.1+rke2r1"), all("v1.33.6+rke2r1", "")), rule: hop, blames: "cp"},
		{name: "one early member is enough", given: healthy(3, to("v1.34.1+rke2r1"), all("v1.33.7+rke2r3", "3.5.26"), at(3, "v1.33.6+rke2r1", "3.5.21")), rule: hop},
		{name: "3.5.26 everywhere", given: healthy(3, to("v1.34.1+rke2r1"), all("v1.33.7+rke2r3", "3.5.26")), action: surge},
		{name: "to the bridge", given: healthy(3, to("v1.33.7+rke2r3"), all("v1.33.6+rke2r1", "3.5.21")), action: surge},
		{name: "within 3.6", given: healthy(3, to("v1.36.3+rke2r1"), all("v1.35.0+rke2r1", "3.6.14")), action: surge},
		{name: "nothing is known", given: healthy(3, to("v1.34.1+rke2r1"), all("v1.31.0+rke2r1", "")), action: surge},
		{name: "without surge, before anything is deleted", given: healthy(3, func(s *model.Snapshot) { s.ControlPlane.MaxSurge = 0 }, to("v1.34.1+rke2r1"), all("v1.33.6+rke2r1", "3.5.21")), rule: hop},
		{name: "no rescue by a server that must not join", given: healthy(3, to("v1.34.1+rke2r1"), all("v1.33.6+rke2r1", "3.5.21"), deleting(1, model.PhaseWaitingForPreDrain)), rule: "replacement_before_drain", blames: "cp"},
		{name: "nothing to change, nothing to hold", given: healthy(3, all("v1.33.6+rke2r1", "3.5.21")), rule: plan.Settled},
	})
	d := plan.Decide(healthy(3, to("v1.34.1+rke2r1"), all("v1.32.5+rke2r1", "3.5.21")))
	if len(d.Waits) != 1 || !strings.Contains(d.Waits[0].Blockers[0].Unblock, "v1.32.11+rke2r3") || !d.Waits[0].Operator {
		t.Errorf("the way out is not named: %+v", d.Waits)
	}
}
