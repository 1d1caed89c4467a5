package plan_test

import (
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

const whyOutdated = "it is outdated: version v1.36.3+rke2r1, wanted v1.36.3+rke2r2"

// With an external datastore no rule asks for members, which are never known.
func TestExternalDatastore(t *testing.T) {
	rescue := model.CreateMachine{Purpose: model.Rescue}
	undrained := func(i int) change { return machine(i, func(m *model.Machine) { m.PreDrainHook = true }) }
	refused := func(s *model.Snapshot) { s.Cluster.Registration = model.Known(false, now) }
	hidden := func(s *model.Snapshot) { s.ControlPlane.HiddenEtcd = true }
	run(t, []tcase{
		{name: "settled", given: healthy(3, external), rule: plan.Settled},
		{name: "an even number is as good", given: healthy(2, external), rule: plan.Settled},
		{name: "a server has joined when its Node is there", given: healthy(2, external, replicas(3)), action: model.CreateMachine{Purpose: model.ScaleUp}, rule: "missing_server_is_created"},
		{name: "one at a time", given: healthy(2, external, replicas(4), joining(3)), rule: "one_server_joins_at_a_time", blames: "cp-3"},
		{name: "no join where registration is refused", given: healthy(2, external, replicas(3), refused), rule: "missing_server_is_created", blames: "10.0.0.1:9345"},
		{name: "all servers gone: the data are elsewhere", given: healthy(0, external, replicas(3)), action: model.CreateMachine{Purpose: model.ScaleUp}, rule: "missing_server_is_created"},
		{name: "all servers gone, and nothing listens where they registered", given: healthy(0, external, replicas(3), refused), action: model.CreateMachine{Purpose: model.ScaleUp}, rule: "missing_server_is_created"},
		{name: "all servers gone, and the data with them: etcd is inside", given: healthy(0, external, hidden, replicas(3)), rule: "data_is_not_started_over", blames: "cp"},
		{name: "the outdated one whose host is dead goes first", given: healthy(3, external, outdated(1, 2, 3), notReady(2)), action: model.DeleteMachine{Machine: "cp-2", Why: "its host is dead and " + whyOutdated}, rule: "broken_outdated_server_goes_first"},
		{name: "it stays while no other answers", given: healthy(2, external, outdated(1, 2), notReady(1), notReady(2)), rule: "control_plane_is_healthy", blames: "cp-1"},
		{name: "scale down by the dead one", given: healthy(3, external, replicas(2), notReady(3)), action: model.DeleteMachine{Machine: "cp-3", Why: "there are more servers than wished, and its host is dead"}, rule: "broken_surplus_goes_first"},
		{name: "which stays while no other answers", given: healthy(3, external, replicas(2), notReady(1), notReady(2), notReady(3)), rule: "control_plane_is_healthy", blames: "cp-1"},
		{name: "rollout: the new one first", given: healthy(3, external, outdated(1, 2, 3)), action: model.CreateMachine{Purpose: model.Surge}},
		{name: "then the old one", given: healthy(4, external, replicas(3), outdated(1, 2, 3)), action: model.DeleteMachine{Machine: "cp-1", Why: whyOutdated}},
		{name: "without surge the old one first", given: healthy(3, external, surge(0), outdated(1, 2, 3)), action: model.DeleteMachine{Machine: "cp-1", Why: whyOutdated}},
		{name: "nothing is replaced beside a Node that is not Ready", given: healthy(3, external, outdated(1), notReady(2)), rule: "control_plane_is_healthy", blames: "cp-2"},
		{name: "to etcd 3.6 at once", given: healthy(3, external, outdated(1, 2, 3), etcdHop), action: model.CreateMachine{Purpose: model.Surge}},
		{name: "scale down to one", given: healthy(3, external, replicas(1)), action: model.DeleteMachine{Machine: "cp-1", Why: "there are more servers than wished"}},
		{name: "a deleted one is replaced first", given: healthy(3, external, deleting(1, model.PhaseWaitingForPreDrain)), action: rescue, rule: "replacement_before_drain"},
		{name: "and waits while its replacement joins", given: healthy(3, external, joining(4), deleting(1, model.PhaseWaitingForPreDrain)), rule: "replacement_before_drain", blames: "cp-4"},
		{name: "then load balancers let go of it", given: healthy(4, external, replicas(3), deleting(1, model.PhaseWaitingForPreDrain)), action: model.ExcludeFromLoadBalancers{Machine: "cp-1"}},
		{name: "its drain comes after the load balancers", given: healthy(4, external, replicas(3), deleting(1, model.PhaseWaitingForPreDrain), excluded(1, time.Minute)), action: model.ReleasePreDrainHook{Machine: "cp-1"}},
		{name: "without surge one fewer is enough", given: healthy(3, external, surge(0), deleting(1, model.PhaseWaitingForPreDrain)), action: model.ExcludeFromLoadBalancers{Machine: "cp-1"}},
		{name: "a broken one that stays is named", given: healthy(4, external, replicas(3), notReady(3), deleting(1, model.PhaseWaitingForPreDrain)), rule: "replacement_before_drain", blames: "cp-3"},
		{name: "who does not work needs no replacement", given: healthy(3, external, notReady(1), deleting(1, model.PhaseWaitingForPreDrain)), action: model.ExcludeFromLoadBalancers{Machine: "cp-1"}},
		{name: "all are deleted, core has come past the drain: one that works is made first", given: healthy(2, external, deleting(1, model.PhaseWaitingForPreTerm), undrained(1), deleting(2, model.PhaseWaitingForPreTerm), undrained(2)), action: rescue, rule: "replacement_before_drain"},
		{name: "nobody waits to read the Node of a host that is gone", given: healthy(3, external, deleting(1, model.PhaseWaitingForPreDrain), machine(1, func(m *model.Machine) {
			m.Node, m.InfrastructureGone = model.Unknown[model.Node]("no API server", now), model.Known(true, now)
		})), action: model.ReleasePreDrainHook{Machine: "cp-1"}},
		{name: "no API server answers: the next server brings one", given: healthy(1, external, deleting(1, model.PhaseWaitingForPreDrain), machine(1, func(m *model.Machine) {
			m.Node = model.Unknown[model.Node]("no API server", now)
		})), action: rescue, rule: "replacement_before_drain"},
		{name: "no room for another: they make it", given: healthy(4, external, replicas(2), deleting(1, model.PhaseWaitingForPreDrain), deleting(2, model.PhaseWaitingForPreDrain), deleting(3, model.PhaseWaitingForPreDrain), deleting(4, model.PhaseWaitingForPreDrain)), action: model.ExcludeFromLoadBalancers{Machine: "cp-1"}},
		{name: "drained already, and now the last that answers", given: healthy(3, external, notReady(2), notReady(3), deleting(1, model.PhaseWaitingForPreTerm)), action: rescue, rule: "replacement_before_drain"},
		{name: "hooks of others come first", given: healthy(3, external, deleting(1, model.PhaseWaitingForPreTerm), machine(1, func(m *model.Machine) {
			m.ForeignPreTerminate = []model.Hook{{Name: "backup", Owner: "velero"}}
		})), rule: "foreign_hooks_come_first", blames: "cp-1"},
		{name: "released after the drain", given: healthy(3, external, deleting(1, model.PhaseWaitingForPreTerm)), action: model.ReleasePreTerminateHook{Machine: "cp-1"}},
		{name: "released with a dead host", given: healthy(3, external, notReady(1), deleting(1, model.PhaseWaitingForPreTerm)), action: model.ReleasePreTerminateHook{Machine: "cp-1"}},
		{name: "the only one is replaced first", given: healthy(1, external, deleting(1, model.PhaseWaitingForPreDrain)), action: rescue},
		{name: "so is one with etcd inside: the next one has the data, too", given: healthy(1, external, hidden, deleting(1, model.PhaseWaitingForPreDrain)), action: rescue},
		{name: "the only one is released when it does not work", given: healthy(1, external, notReady(1), deleting(1, model.PhaseWaitingForPreTerm)), action: model.ReleasePreTerminateHook{Machine: "cp-1"}},
		{name: "one that never joined is released, too", given: healthy(2, external, replicas(3), joining(3), machine(3, func(m *model.Machine) { m.InfrastructureReady = true }), deleting(3, model.PhaseWaitingForPreTerm)),
			action: model.ReleasePreTerminateHook{Machine: "cp-3"}},
		{name: "one leaves at a time", given: healthy(3, external, deleting(1, model.PhaseDraining), deleting(2, model.PhaseWaitingForPreDrain)), rule: "drain_comes_before_member", blames: "cp-1"},
		{name: "hooks that were lost are put back", given: healthy(3, external, machine(2, func(m *model.Machine) { m.PreDrainHook = false })), action: model.RestoreHooks{Machine: "cp-2"}},
		{name: "deleted as a whole", given: healthy(3, external, func(s *model.Snapshot) { s.ControlPlane.Deleting = true }), action: model.DropHooks{Machine: "cp-1"}},
	})
}

// etcdHop asks for etcd 3.6 while the servers run an early 3.5.
func etcdHop(s *model.Snapshot) {
	s.ControlPlane.Version = "v1.33.12+rke2r1"
	for i := range s.Machines {
		s.Machines[i].Version = "v1.33.6+rke2r1"
	}
}

// Two servers bear no failure, and four no more than three.
func TestEvenCounts(t *testing.T) {
	leads := func(i int) change { return member(i, func(m *model.Member) { m.Leader = true }) }
	gone := func(i int) change {
		return machine(i, func(m *model.Machine) { m.InfrastructureGone = model.Known(true, now) })
	}
	run(t, []tcase{
		{name: "two: rollout", given: healthy(2, outdated(1, 2)), action: model.CreateMachine{Purpose: model.Surge}},
		{name: "two: three to two, RKE2 may be asked", given: healthy(3, replicas(2), outdated(2), deleting(2, model.PhaseWaitingForPreTerm)), action: model.AskForMemberRemoval{Machine: "cp-2", Member: 2}},
		{name: "two to one: it may not", given: healthy(2, replicas(1), deleting(2, model.PhaseWaitingForPreTerm)),
			action: model.RemoveMember{Member: 2, Ground: model.Drained, Name: "node-cp-2-0000000a", Machine: "cp-2"}},
		{name: "two: a deleted one is replaced first", given: healthy(2, deleting(1, model.PhaseWaitingForPreDrain)), action: model.CreateMachine{Purpose: model.Rescue}},
		{name: "two: both are deleted", given: healthy(2, deleting(1, model.PhaseWaitingForPreDrain), deleting(2, model.PhaseWaitingForPreDrain)), action: model.CreateMachine{Purpose: model.Rescue}},
		{name: "two: one is dead and the quorum gone", given: healthy(2, dead(2), marked(2)), rule: plan.Settled, blames: "node-cp-2-0000000a"},
		{name: "two: nor does its deletion help", given: healthy(2, dead(2), deleting(2, model.PhaseWaitingForPreDrain)), rule: "replacement_before_drain", blames: "node-cp-2-0000000a"},
		{name: "two: nor that its infrastructure is gone", given: healthy(2, dead(2), gone(2), deleting(2, model.PhaseWaitingForPreDrain)), rule: "replacement_before_drain", blames: "node-cp-2-0000000a"},
		{name: "four: rollout", given: healthy(4, outdated(1, 2, 3, 4)), action: model.CreateMachine{Purpose: model.Surge}},
		{name: "four: rollout without surge", given: healthy(4, surge(0), outdated(1, 2, 3, 4)), action: model.DeleteMachine{Machine: "cp-1", Why: whyOutdated}},
		{name: "four: without surge three are enough", given: healthy(4, surge(0), deleting(2, model.PhaseWaitingForPreDrain), excluded(2, time.Minute)), action: model.ReleasePreDrainHook{Machine: "cp-2"}},
		{name: "four: a dead one is replaced", given: healthy(4, dead(2), marked(2)), action: remediate("2", 0)},
		{name: "four: two are dead and the quorum gone", given: healthy(4, dead(2), dead(3), marked(2), marked(3)), rule: plan.Settled, blames: "node-cp-2-0000000a"},
		{name: "four: a dead one that was deleted goes before one that leaves", given: healthy(5, replicas(4), dead(2), deleting(1, model.PhaseDraining), deleting(2, model.PhaseWaitingForPreDrain)),
			action: model.RemoveMember{Member: 2, Ground: model.HostDead, Name: "node-cp-2-0000000a", Machine: "cp-2"}},
		{name: "six: two are dead, the second one waits for nothing", given: healthy(6, dead(1), dead(2), leads(3), marked(2), deleting(1, model.PhaseDraining), removed(1)), action: remediate("2", 0)},
		{name: "six: three are dead and the quorum gone", given: healthy(6, dead(1), dead(2), dead(3), leads(4), marked(1)), rule: plan.Settled, blames: "node-cp-1-0000000a"},
	})
}

// Whatever state a control plane is in, its deletion goes on at once.
func TestDeletionFromOddStates(t *testing.T) {
	whole := func(s *model.Snapshot) { s.ControlPlane.Deleting = true }
	cluster := func(s *model.Snapshot) { s.Cluster.Deleting = true }
	noNodes := func(s *model.Snapshot) {
		for i := range s.Machines {
			s.Machines[i].NodeName, s.Machines[i].NodeAbsent = "", false
			s.Machines[i].Node = model.Unknown[model.Node]("no connection", now)
		}
	}
	hostsGone := func(s *model.Snapshot) {
		for i := range s.Machines {
			s.Machines[i].InfrastructureGone = model.Known(true, now)
		}
	}
	prerequisites := func(s *model.Snapshot) {
		s.Cluster.Template, s.Cluster.InfrastructureReady, s.Cluster.Endpoint = model.Known(false, now), false, ""
		s.Cluster.Certificates, s.Cluster.CertificateProblem = model.Known(false, now), "Secret demo-ca is gone"
		s.ControlPlane.Problems = []string{"spec.version is no version"}
	}
	fresh := func(s *model.Snapshot) { s.ControlPlane.Initialized = false; membersUnknown(s) }
	bare := func(i int) change {
		return machine(i, func(m *model.Machine) { m.PreDrainHook, m.PreTerminateHook = false, false })
	}
	drop := model.DropHooks{Machine: "cp-1"}
	last := model.DeleteMachine{Machine: "cp-2", Why: "the control plane is being deleted"}
	run(t, []tcase{
		{name: "hosts are gone", given: healthy(3, whole, hostsGone, noNodes, membersUnknown), action: drop},
		{name: "hosts are gone, by the Cluster", given: healthy(3, cluster, hostsGone, noNodes, membersUnknown), action: drop},
		{name: "what servers are made from is gone", given: healthy(3, whole, prerequisites), action: drop},
		{name: "the quorum is lost", given: healthy(3, whole, dead(2), dead(3)), action: drop},
		{name: "the first server never came up", given: healthy(0, whole, fresh, replicas(3), joining(1)), action: drop},
		{name: "no server was ever made", given: healthy(0, whole, fresh, replicas(3), prerequisites), action: model.FinishDeletion{}},
		{name: "no server is left", given: healthy(0, whole, membersUnknown, replicas(3)), action: model.FinishDeletion{}},
		{name: "a server leaves, and waits for a replacement", given: healthy(3, whole, deleting(1, model.PhaseWaitingForPreDrain), prerequisites), action: drop},
		{name: "a server leaves, and RKE2 was asked for its member", given: healthy(3, whole, deleting(1, model.PhaseWaitingForPreTerm), machine(1, func(m *model.Machine) {
			m.Node.Value.RemovalAsked, m.Node.Value.RemovalAskedAt = true, now
		})), action: drop},
		{name: "somebody took our hooks off", given: healthy(2, whole, bare(1), bare(2), deleting(1, model.PhaseDeletingInfra)), action: last},
		{name: "a health check wants one replaced", given: healthy(2, whole, bare(1), bare(2), dead(1), marked(1), deleting(1, model.PhaseDeletingInfra)), action: last},
		{name: "a foreign hook holds the last", given: healthy(1, whole, bare(1), deleting(1, model.PhaseWaitingForPreTerm), bare(1), machine(1, func(m *model.Machine) {
			m.ForeignPreTerminate = []model.Hook{{Name: "backup"}}
		})), rule: "whole_control_plane_is_deleted", blames: "cp-1"},
		{name: "orphans are left alone", given: healthy(1, whole, bare(1), deleting(1, model.PhaseDeletingInfra), func(s *model.Snapshot) {
			s.Etcd.Members.Value = append(s.Etcd.Members.Value, model.Member{ID: 9, Name: "node-old-0000000a", NodeReady: model.No, UnmatchedSince: ago(time.Hour)})
		}), rule: "whole_control_plane_is_deleted", blames: "cp-1"},
		{name: "external datastore", given: healthy(3, whole, external, hostsGone, noNodes), action: drop},
	})
}
