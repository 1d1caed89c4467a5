package observe_test

import (
	"context"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/world/worldtest"
)

// network stands in for the way to the registration address.
type network struct {
	dials int
	err   error
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	n.dials++
	if n.err != nil {
		return nil, n.err
	}
	near, far := net.Pipe()
	_ = far.Close()
	return near, nil
}

func observer(w *worldtest.World, n *network) *observe.Observer {
	return observe.New(observe.Options{Client: w.Management, Live: w.Management, Connector: w.Connector(), Dial: n.dial})
}

func look(t *testing.T, w *worldtest.World, o *observe.Observer) model.Snapshot {
	t.Helper()
	snap, err := o.Observe(t.Context(), w.Scope())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestHealthyControlPlane(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 3)
	for i := range 3 {
		w.AddServer(i)
	}
	n := &network{}
	snap := look(t, w, observer(w, n))

	g.Expect(snap.Now.IsZero()).To(BeFalse())
	g.Expect(snap.ControlPlane).To(Equal(model.ControlPlane{
		Namespace: "demo", Name: "cp", Replicas: 3, MaxSurge: 1, Version: worldtest.Version,
		Initialized: true, ExcludeFromLoadBalancers: true, LoadBalancerSettle: 5 * time.Second, Remediation: model.RemediationPolicy{MinHealthyPeriod: time.Hour},
	}))
	g.Expect(snap.Cluster.Endpoint).To(Equal("10.0.0.100:6443"))
	g.Expect(snap.Cluster.FailureDomains).To(Equal([]string{"a", "b"}))
	g.Expect(snap.Cluster.Template.Known && snap.Cluster.Template.Value).To(BeTrue(), snap.Cluster.Template.Reason)
	g.Expect(snap.Cluster.TemplateName).To(Equal("LabMachineTemplate/t"))
	g.Expect(snap.Cluster.Certificates.Known && snap.Cluster.Certificates.Value).To(BeTrue(), snap.Cluster.CertificateProblem)
	g.Expect(snap.Cluster.Registration.Known).To(BeFalse())
	g.Expect(n.dials).To(BeZero(), "nobody is about to join")

	g.Expect(snap.Machines).To(HaveLen(3))
	for _, m := range snap.Machines {
		g.Expect(m.UpToDate()).To(BeTrue(), "%v", m.Outdated)
		g.Expect(m.Alive()).To(BeTrue())
		g.Expect(m.PreDrainHook && m.PreTerminateHook).To(BeTrue())
		g.Expect(m.InfrastructureGone).To(And(HaveField("Known", true), HaveField("Value", false)))
		g.Expect(m.Node.Value.MemberAnnotated).To(BeTrue())
		g.Expect(m.Components).To(HaveLen(4))
		for name, fact := range m.Components {
			g.Expect(fact.Known && fact.Value).To(BeTrue(), "%s: %s", name, fact.Reason)
		}
	}
	g.Expect(snap.Etcd.Members.Known).To(BeTrue(), snap.Etcd.Members.Reason)
	leaders := 0
	for _, m := range snap.Etcd.Members.Value {
		g.Expect(m.HealthyVoter()).To(BeTrue(), "%s: %s", m.Name, m.Answers.Reason)
		g.Expect(m.Machine).To(Equal("m" + m.Name[1:2]))
		g.Expect(m.NodeReady).To(Equal(model.Yes))
		g.Expect(m.UnmatchedSince.IsZero()).To(BeTrue())
		if m.Leader {
			leaders++
		}
	}
	g.Expect(leaders).To(Equal(1))
}

func TestLostConnectionIsUnknownEverywhere(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	w.AddServer(0)
	w.Connected = false
	snap := look(t, w, observer(w, &network{}))
	g.Expect(snap.ControlPlane.Initialized).To(BeFalse())
	g.Expect(snap.Etcd.Members.Known).To(BeFalse())
	g.Expect(snap.Etcd.Members.Reason).To(ContainSubstring("no connection to the workload cluster"))
	g.Expect(snap.Machines[0].Node.Known).To(BeFalse())
	g.Expect(snap.Machines[0].Node.Reason).To(ContainSubstring("no connection"))
	g.Expect(snap.Machines[0].Components["etcd"].Known).To(BeFalse())
}

func TestDeadMemberAndOrphan(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 3)
	for i := range 2 {
		w.AddServer(i)
	}
	o := observer(w, &network{})
	first := look(t, w, o)
	orphan := memberNamed(first, "n2-00000002")
	g.Expect(orphan.Machine).To(BeEmpty())
	g.Expect(orphan.UnmatchedSince.IsZero()).To(BeFalse())
	g.Expect(orphan.NodeReady).To(Equal(model.No), "there is no such Node")
	g.Expect(orphan.Answers.Known).To(BeFalse())

	again := memberNamed(look(t, w, o), "n2-00000002")
	g.Expect(again.UnmatchedSince).To(Equal(orphan.UnmatchedSince), "the time is remembered")

	w.AddServer(2)
	w.Etcd.Kill(w.Etcd.Members[2])
	dead := memberNamed(look(t, w, o), "n2-00000002")
	g.Expect(dead.Machine).To(Equal("m2"))
	g.Expect(dead.UnmatchedSince.IsZero()).To(BeTrue())
	g.Expect(dead.Healthy()).To(BeFalse())
	g.Expect(dead.Answers.Reason).To(ContainSubstring("etcd on node n2"))
}

func memberNamed(s model.Snapshot, name string) model.Member {
	for _, m := range s.Etcd.Members.Value {
		if m.Name == name {
			return m
		}
	}
	return model.Member{}
}
