package act_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
)

// crashing is a run in which the process dies right after its k-th write. A new
// one goes on with what it finds.
type crashing struct {
	*fixture
	at, writes int
	// removals are the member calls: questions to RKE2 and calls to etcd.
	removals []string
}

// TestCrashAfterEveryWrite scales down from three servers to two, once for each
// write that the process may die after. Whatever it was, the end is the same.
func TestCrashAfterEveryWrite(t *testing.T) {
	writes := 1
	for k := 0; k < writes; k++ {
		t.Run(fmt.Sprintf("write %d", k), func(t *testing.T) {
			c := &crashing{fixture: setUp(t, 3, 3), at: k}
			c.Calls = func(string, client.Object) error { return nil }
			c.After = c.afterWrite
			c.wish(2)
			c.run()
			c.expectTwo()
			writes = max(writes, c.writes)
		})
	}
	if writes < 4 { // the Machine twice, its Node, its deletion
		t.Errorf("only %d writes were seen", writes)
	}
}

func (c *crashing) afterWrite(string, client.Object) error {
	c.writes++
	if c.writes == c.at+1 {
		return errCrash
	}
	return nil
}

func (c *crashing) wish(replicas int32) {
	c.t.Helper()
	cp := &controlplanev1.RKE2ControlPlane{}
	c.Expect(c.Management.Get(c.t.Context(), client.ObjectKeyFromObject(c.ControlPlane), cp)).To(Succeed())
	cp.Spec.Replicas = ptr.To(replicas)
	cp.Annotations = map[string]string{controlplanev1.LoadBalancerExclusionAnnotation: "false", controlplanev1.InitializedAnnotation: "true"}
	c.Expect(c.Management.Update(c.t.Context(), cp)).To(Succeed())
}

// run decides and acts until nothing is left to do. Whenever the process dies,
// a new Actor takes over.
func (c *crashing) run() {
	c.t.Helper()
	c.Eventually(func() bool {
		d := plan.Decide(c.observe())
		if d.Action != nil {
			c.note(d.Action)
			if err := c.do(d.Action); err != nil && !act.IsRefused(err) {
				c.actor = act.New(c.actor.Options)
			}
		}
		c.core()
		c.rke2()
		return d.Settled()
	}, "60s", "50ms").Should(BeTrue(), "the goal is reached")
}

// note keeps the removals that may have happened.
func (c *crashing) note(a model.Action) {
	switch a := a.(type) {
	case model.AskForMemberRemoval:
		c.removals = append(c.removals, a.Machine)
	case model.RemoveMember:
		c.removals = append(c.removals, a.Machine)
	}
}

// core goes on with the deletion of Machines, as far as hooks let it.
func (c *crashing) core() {
	c.t.Helper()
	for _, m := range c.Scope().Machines {
		if m.DeletionTimestamp.IsZero() {
			continue
		}
		switch {
		case hasHook(m, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation):
			c.phase(m, model.PhaseWaitingForPreDrain)
		case hasHook(m, controlplanev1.PreTerminateHookCleanupAnnotation):
			c.phase(m, model.PhaseWaitingForPreTerm)
		default:
			c.destroy(m)
		}
	}
}

func hasHook(m *clusterv1.Machine, hook string) bool {
	_, ok := m.Annotations[hook]
	return ok
}

func (c *crashing) phase(m *clusterv1.Machine, p model.Phase) {
	c.t.Helper()
	if conditions.GetReason(m, clusterv1.MachineDeletingCondition) == string(p) {
		return
	}
	conditions.Set(m, metav1.Condition{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: string(p)})
	c.Expect(c.Management.Status().Update(c.t.Context(), m)).To(Succeed())
}

func (c *crashing) destroy(m *clusterv1.Machine) {
	c.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Status.NodeRef.Name}}
	c.Expect(client.IgnoreNotFound(c.Workload.Delete(c.t.Context(), node))).To(Succeed())
	m.Finalizers = nil
	c.Expect(c.Management.Update(c.t.Context(), m)).To(Succeed())
}

// rke2 removes the member of a Node that is annotated for it.
func (c *crashing) rke2() {
	c.t.Helper()
	access := c.Etcd.Access(c.Pool())
	for _, m := range c.observe().Etcd.Members.Value {
		if m.Machine == "" {
			continue
		}
		node := &corev1.Node{}
		key := client.ObjectKey{Name: "n" + m.Machine[1:]}
		if err := c.Workload.Get(c.t.Context(), key, node); err != nil || node.Annotations[controlplanev1.EtcdRemoveAnnotation] != "true" {
			continue
		}
		for _, other := range c.observe().Etcd.Members.Value {
			if other.ID != m.ID && other.HealthyVoter() {
				_ = access.Remove(c.t.Context(), "n"+other.Machine[1:], m.ID) // it is tried again, as RKE2 does
				break
			}
		}
	}
}

func (c *crashing) expectTwo() {
	c.t.Helper()
	s := c.Scope()
	c.Expect(s.Machines).To(HaveLen(2))
	c.Expect(c.ids()).To(HaveLen(2))
	for _, m := range s.Machines {
		for _, annotation := range []string{clusterv1.ExcludeNodeDrainingAnnotation, clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation} {
			c.Expect(m.Annotations).NotTo(HaveKey(annotation))
		}
		c.Expect(hasHook(m, controlplanev1.PreTerminateHookCleanupAnnotation)).To(BeTrue())
		c.Expect(c.node("n" + m.Name[1:]).Annotations).NotTo(HaveKey(controlplanev1.EtcdRemoveAnnotation))
	}
	unique := map[string]bool{}
	for _, m := range c.removals {
		unique[m] = true
	}
	c.Expect(unique).To(HaveLen(1), "one member is removed: %v", c.removals)
}
