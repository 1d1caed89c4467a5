package plan_test

import (
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

func TestCreating(t *testing.T) {
	fresh := func(s *model.Snapshot) {
		s.ControlPlane.Initialized, s.ControlPlane.Replicas = false, 3
		membersUnknown(s)
	}
	run(t, []tcase{
		{name: "the first server", given: healthy(0, fresh), action: model.CreateMachine{Purpose: model.First}, rule: "first_server_starts_alone"},
		{name: "not before the infrastructure", given: healthy(0, fresh, func(s *model.Snapshot) { s.Cluster.InfrastructureReady = false }), blames: "demo"},
		{name: "not before the endpoint", given: healthy(0, fresh, func(s *model.Snapshot) { s.Cluster.Endpoint = "" }), blames: "demo"},
		{name: "not without the template", given: healthy(0, fresh, func(s *model.Snapshot) { s.Cluster.Template = model.Known(false, now) }), blames: "LabMachineTemplate demo/cp"},
		{name: "not without whole Secrets", given: healthy(0, fresh, func(s *model.Snapshot) {
			s.Cluster.Certificates, s.Cluster.CertificateProblem = model.Known(false, now), "Secret demo-ca: key tls.key is missing"
		}), blames: "cp"},
		{name: "not with an unreadable version", given: healthy(0, fresh, func(s *model.Snapshot) { s.ControlPlane.Problems = []string{"spec.version"} }), rule: "spec_can_be_followed"},
		{name: "only one first server", given: healthy(0, fresh, joining(1)), rule: "first_server_starts_alone", blames: "cp-1"},
		{name: "a first server that never came up is replaced after a change", given: healthy(0, fresh, joining(1), outdated(1)),
			action: model.DeleteMachine{Machine: "cp-1", Why: "it never became a server and differs from the spec: version v1.36.3+rke2r1, wanted v1.36.3+rke2r2"}},
		{name: "no new cluster under an old name", given: healthy(0, replicas(3)), rule: "data_is_not_started_over", blames: "cp"},
		{name: "second server", given: healthy(1, replicas(3)), action: model.CreateMachine{Purpose: model.ScaleUp}, rule: "missing_server_is_created"},
		{name: "one at a time", given: healthy(1, replicas(3), joining(2)), rule: "one_server_joins_at_a_time", blames: "cp-2"},
		{name: "a learner has not joined", given: healthy(2, replicas(3), member(2, func(m *model.Member) { m.Learner = true })), rule: "one_server_joins_at_a_time", blames: "cp-2"},
		{name: "a voter without a Node has not joined", given: healthy(2, replicas(3), machine(2, func(m *model.Machine) { m.NodeName = "" })), rule: "one_server_joins_at_a_time", blames: "cp-2"},
		{name: "no join while a voter is down", given: healthy(2, replicas(3), silent(2)), blames: "cp-2"},
		{name: "no join where registration is refused", given: healthy(1, replicas(3), func(s *model.Snapshot) { s.Cluster.Registration = model.Known(false, now) }), blames: "10.0.0.1:9345"},
		{name: "a registration that can't be probed is tried", given: healthy(1, replicas(3), func(s *model.Snapshot) {
			s.Cluster.Registration = model.Unknown[bool]("time-out", now)
		}), action: model.CreateMachine{Purpose: model.ScaleUp}},
		{name: "unknown members: nothing", given: healthy(1, replicas(3), membersUnknown), rule: "one_server_joins_at_a_time", blames: "demo"},
		{name: "a Node need not be Ready for the next to join", given: healthy(1, replicas(3), machine(1, func(m *model.Machine) { m.Node.Value.Ready = model.No })),
			action: model.CreateMachine{Purpose: model.ScaleUp}},
		{name: "the emptiest failure domain", given: healthy(2, replicas(3), func(s *model.Snapshot) {
			s.Cluster.FailureDomains = []string{"a", "b", "c"}
			s.Machines[0].FailureDomain, s.Machines[1].FailureDomain = "a", "c"
		}), action: model.CreateMachine{Purpose: model.ScaleUp, FailureDomain: "b"}},
		{
			name:   "a broken outdated server goes although another one leaves: it can't be waited for",
			given:  healthy(4, replicas(3), dead(2), outdated(1, 2, 3), deleting(1, model.PhaseWaitingForPreDrain)),
			action: model.DeleteMachine{Machine: "cp-2", Why: "its host is dead and it is outdated: version v1.36.3+rke2r1, wanted v1.36.3+rke2r2"},
		},
		{
			name:   "a broken outdated server goes although another one joins: with its voter down that one can't",
			given:  healthy(3, dead(2), outdated(1, 2, 3), joining(4)),
			action: model.DeleteMachine{Machine: "cp-2", Why: "its host is dead and it is outdated: version v1.36.3+rke2r1, wanted v1.36.3+rke2r2"},
		},
		{name: "a joiner from an old spec that never joined is given up", given: healthy(2, replicas(3), joining(3), outdated(3)),
			action: model.DeleteMachine{Machine: "cp-3", Why: "it has not joined and differs from the spec: version v1.36.3+rke2r1, wanted v1.36.3+rke2r2"}},
	})
}

func TestRolling(t *testing.T) {
	old := "it is outdated: version v1.36.3+rke2r1, wanted v1.36.3+rke2r2"
	run(t, []tcase{
		{name: "settled", given: healthy(3), rule: plan.Settled},
		{name: "surge: the new one first", given: healthy(3, outdated(1, 2, 3)), action: model.CreateMachine{Purpose: model.Surge}, rule: "outdated_server_is_replaced"},
		{name: "then the oldest outdated goes", given: healthy(4, replicas(3), outdated(2, 3)), action: model.DeleteMachine{Machine: "cp-2", Why: old}, rule: "surplus_server_is_deleted"},
		{name: "the one the user marked goes first", given: healthy(4, replicas(3), outdated(2, 3), machine(3, func(m *model.Machine) { m.DeletionWished = true })),
			action: model.DeleteMachine{Machine: "cp-3", Why: old}},
		{name: "no surge: the old one first", given: healthy(3, surge(0), outdated(1, 2, 3)), action: model.DeleteMachine{Machine: "cp-1", Why: old}},
		{name: "scale down", given: healthy(3, replicas(1)), action: model.DeleteMachine{Machine: "cp-1", Why: "there are more servers than wished"}},
		{name: "the crowded failure domain first", given: healthy(3, replicas(2), func(s *model.Snapshot) {
			s.Cluster.FailureDomains = []string{"a", "b"}
			s.Machines[0].FailureDomain, s.Machines[1].FailureDomain, s.Machines[2].FailureDomain = "a", "b", "b"
		}), action: model.DeleteMachine{Machine: "cp-2", Why: "there are more servers than wished"}},
		{name: "nothing is replaced beside a sick member", given: healthy(3, outdated(1, 2, 3), silent(2)), rule: "control_plane_is_healthy", blames: "cp-2"},
		{name: "nor beside an alarm", given: healthy(3, outdated(1), member(2, func(m *model.Member) { m.Alarms = []string{"NOSPACE"} })), rule: "control_plane_is_healthy", blames: "cp-2"},
		{name: "nor beside a broken API server", given: healthy(3, outdated(1), machine(3, func(m *model.Machine) {
			m.Components = map[string]model.Fact[bool]{"kube-apiserver": {Known: true, Reason: "not Ready"}}
		})), rule: "control_plane_is_healthy", blames: "cp-3"},
		{name: "nor beside a Node that is not Ready", given: healthy(4, replicas(3), outdated(1), machine(4, func(m *model.Machine) { m.Node.Value.Ready = model.No })),
			rule: "control_plane_is_healthy", blames: "cp-4"},
		{name: "an outdated dead server is replaced first", given: healthy(3, outdated(1, 2, 3), dead(2)), action: model.DeleteMachine{
			Machine: "cp-2", Why: "its host is dead and " + old}, rule: "broken_outdated_server_goes_first"},
		{name: "but not on short silence", given: healthy(3, outdated(1, 2, 3), dead(2), machine(2, func(m *model.Machine) {
			m.Node.Value.ReadySince = ago(10 * time.Second)
		})), rule: "control_plane_is_healthy", blames: "cp-2"},
		{name: "an invalid spec stops a rollout", given: healthy(2, surge(0), outdated(1, 2), func(s *model.Snapshot) {
			s.ControlPlane.Problems = []string{"maxSurge 0 needs at least 3 replicas"}
		}), rule: "spec_can_be_followed", blames: "cp"},
	})
}

func TestRuleNamesAreUniqueAndExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range plan.Rules() {
		if seen[r.Name] || r.Name == "" || len(r.Why) < 20 {
			t.Errorf("rule %q: name must be unique and the reason a sentence", r.Name)
		}
		seen[r.Name] = true
	}
}

func decideChecked(t *testing.T, s model.Snapshot) model.Decision {
	t.Helper()
	d := plan.Decide(s)
	checkWaits(t, d)
	return d
}
