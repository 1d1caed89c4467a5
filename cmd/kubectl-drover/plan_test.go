package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/sim"
	"github.com/drover-project/drover/internal/world/scope"
)

// single is a whole server cp-a of a control plane of one, and what is read of
// it.
func single() (*scope.Scope, model.Snapshot) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sc := &scope.Scope{
		Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "prod"}},
		ControlPlane: &controlplanev1.RKE2ControlPlane{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "prod-cp"},
			Spec:       controlplanev1.RKE2ControlPlaneSpec{Version: "v1.35.7+rke2r1", Replicas: ptr.To[int32](1)},
		},
	}
	sc.ControlPlane.Status.Version = "v1.35.7+rke2r1"
	sc.ControlPlane.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "example.com", Kind: "MetalMachineTemplate", Name: "prod"}
	sc.ControlPlane.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	s := model.Snapshot{
		Now:          now,
		ControlPlane: model.ControlPlane{Namespace: "shop", Name: "prod-cp", Replicas: 1, MaxSurge: 1, Initialized: true, ExcludeFromLoadBalancers: true, LoadBalancerSettle: 5 * time.Second},
		Cluster: model.Cluster{
			Name: "prod", InfrastructureReady: true, Endpoint: "192.0.2.1:6443", Template: model.Known(true, now), TemplateName: "MetalMachineTemplate/prod",
			Certificates: model.Known(true, now), Registration: model.Known(true, now),
		},
		Machines: []model.Machine{{
			Name: "cp-a", UID: "cp-a", Created: now.Add(-time.Hour), PreDrainHook: true, PreTerminateHook: true, InfrastructureReady: true,
			InfrastructureGone: model.Known(false, now), NodeName: "node-cp-a", Addresses: []string{"192.0.2.10"},
			Node: model.Known(model.Node{Exists: true, Ready: model.Yes, MemberAnnotated: true}, now),
		}},
	}
	s.Etcd.Members = model.Known([]model.Member{{ID: 0xa0, Name: "node-cp-a-0123abcd", Machine: "cp-a", Leader: true, Answers: model.Known(true, now), NodeReady: model.Yes}}, now)
	return sc, s
}

// TestPlanTexts pins what plan prints. Run it with -rewrite to accept a change.
func TestPlanTexts(t *testing.T) {
	datadriven.RunTest(t, "testdata/plans", func(t *testing.T, d *datadriven.TestData) string {
		sc, s := single()
		var version string
		if d.HasArg("version") {
			d.ScanArgs(t, "version", &version)
		}
		result := outlook{}
		if err := result.change(sc, version, nil); err == nil {
			if s.ControlPlane.Version = sc.ControlPlane.Spec.Version; version != "" {
				s.Machines[0].Outdated = []string{"version v1.35.7+rke2r1, wanted " + version}
			}
			s.Cluster.Template.Value = !d.HasArg("without-template")
			forecast, err := sim.Foresee(s, nil)
			if err != nil {
				t.Fatal(err)
			}
			result.Forecast = *forecast
		}
		return result.Text()
	})
}

// The page for operators shows what is printed for those with "shown".
func TestPageShowsPlans(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	datadriven.RunTest(t, "testdata/plans", func(t *testing.T, d *datadriven.TestData) string {
		if d.HasArg("shown") && !strings.Contains(string(page), d.Expected) {
			t.Errorf("docs/operate/explain.md does not show this:\n%s", d.Expected)
		}
		return d.Expected
	})
}
