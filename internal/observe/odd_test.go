package observe_test

import (
	"net"
	"os"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/world/worldtest"
)

// Servers that somebody runs by hand beside the Machines, with etcd only or
// without it, are seen for what they are.
func TestServersWithoutAMachine(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 3)
	for i := range 2 {
		w.AddServer(i)
	}
	etcdOnly := worldtest.Node("n2")
	delete(etcdOnly.Labels, "node-role.kubernetes.io/control-plane")
	w.Create(w.Workload, etcdOnly)
	w.Create(w.Workload, worldtest.Pod("etcd", "n2"))
	apiOnly := worldtest.Node("n9")
	delete(apiOnly.Labels, "node-role.kubernetes.io/etcd")
	apiOnly.Annotations = nil
	w.Create(w.Workload, apiOnly)
	w.Create(w.Workload, worldtest.Pod("kube-apiserver", "n9"))

	snap := look(t, w, observer(w, &network{}))
	g.Expect(snap.Etcd.Members.Known).To(BeTrue(), snap.Etcd.Members.Reason)
	g.Expect(snap.Etcd.Members.Value).To(HaveLen(3), "a server without etcd adds none")
	for _, m := range snap.Etcd.Members.Value {
		g.Expect(m.Healthy()).To(BeTrue(), m.Label())
	}
	foreign := memberNamed(snap, "n2-00000002")
	g.Expect(foreign.Machine).To(BeEmpty())
	g.Expect(foreign.NodeReady).To(Equal(model.Yes), "what keeps it from being taken for a leftover")
	g.Expect(snap.Machines).To(HaveLen(2))
	for _, m := range snap.Machines {
		for name, c := range m.Components {
			g.Expect(c.Value).To(BeTrue(), "%s of %s: %s", name, m.Name, c.Reason)
		}
	}
}

// A Machine whose Node turns out to have no API server is not taken for whole.
func TestMachineWithEtcdOnly(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 1)
	w.AddServer(0)
	for _, component := range []string{observe.APIServer, observe.ControllerManager, observe.Scheduler} {
		g.Expect(w.Workload.Delete(t.Context(), worldtest.Pod(component, "n0"))).To(Succeed())
	}
	node := &corev1.Node{}
	g.Expect(w.Workload.Get(t.Context(), client.ObjectKey{Name: "n0"}, node)).To(Succeed())
	delete(node.Labels, "node-role.kubernetes.io/control-plane")
	g.Expect(w.Workload.Update(t.Context(), node)).To(Succeed())

	snap := look(t, w, observer(w, &network{}))
	g.Expect(memberNamed(snap, "n0-00000000").Healthy()).To(BeTrue())
	m := snap.Machines[0]
	g.Expect(m.NodeName).To(Equal("n0"))
	g.Expect(m.Components[observe.Etcd]).To(HaveField("Value", true))
	g.Expect(m.Components[observe.APIServer]).To(And(HaveField("Known", true), HaveField("Value", false), HaveField("Reason", "pod kube-apiserver-n0 does not exist")))
}

// With an external datastore nobody is asked for members, and a server runs no
// etcd that could be missed.
func TestExternalDatastore(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	w.AddServer(0)
	g.Expect(w.Workload.Delete(t.Context(), worldtest.Pod("etcd", "n0"))).To(Succeed())
	external(t, w)

	snap := look(t, w, observer(w, &network{}))
	g.Expect(snap.ControlPlane.ExternalDatastore).To(BeTrue())
	g.Expect(snap.Etcd.Members).To(And(HaveField("Known", false), HaveField("Reason", "the control plane keeps no etcd members of its own")))
	g.Expect(snap.Machines[0].Components).NotTo(HaveKey(observe.Etcd))
	g.Expect(snap.Machines[0].Components).To(HaveKeyWithValue(observe.APIServer, HaveField("Value", true)))
}

// Where no server is left nobody answers at the registration address. That
// must not keep the next one from being made.
func TestRegistrationIsNotAskedWithoutServers(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	external(t, w)
	w.ControlPlane.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	g.Expect(w.Management.Status().Update(t.Context(), w.ControlPlane)).To(Succeed())

	n := &network{err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	snap := look(t, w, observer(w, n))
	g.Expect(snap.ControlPlane.Initialized).To(BeTrue())
	g.Expect(snap.Machines).To(BeEmpty())
	g.Expect(snap.Cluster.Registration.Known).To(BeFalse())
	g.Expect(n.dials).To(BeZero())
}

// external lets the control plane keep its data elsewhere.
func external(t *testing.T, w *worldtest.World) {
	t.Helper()
	key := client.ObjectKeyFromObject(w.ControlPlane)
	if err := w.Management.Get(t.Context(), key, w.ControlPlane); err != nil {
		t.Fatal(err)
	}
	w.ControlPlane.Spec.ServerConfig.ExternalDatastoreSecret = &corev1.ObjectReference{Name: "datastore", Namespace: worldtest.Namespace}
	if err := w.Management.Update(t.Context(), w.ControlPlane); err != nil {
		t.Fatal(err)
	}
}
