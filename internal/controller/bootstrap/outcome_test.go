package bootstrap

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

func TestOutcome(t *testing.T) {
	since := time.Date(2026, 12, 2, 10, 0, 0, 0, time.UTC)
	says := func(status metav1.ConditionStatus) *metav1.Condition {
		return &metav1.Condition{Status: status, Message: "step: preRKE2Commands[0]\nno licence"}
	}
	for name, c := range map[string]struct {
		boot   boot
		status metav1.ConditionStatus
		reason string
		want   []string
		retry  time.Duration
	}{
		"joined": {boot{node: "n", reported: says(metav1.ConditionFalse)}, metav1.ConditionTrue, "BootstrapSucceeded", nil, 0},
		"at work": {
			boot{}, metav1.ConditionUnknown, "WaitingForNode",
			[]string{"the machine has its bootstrap data; it has no Node yet"}, bootRetry,
		},
		"failed": {
			boot{infrastructure: "its LabMachine", reported: says(metav1.ConditionFalse)}, metav1.ConditionFalse, "BootstrapFailed",
			[]string{"its LabMachine reports that the bootstrap failed: step: preRKE2Commands[0]\nno licence"}, bootRetry,
		},
		"failed long ago": {
			boot{infrastructure: "its LabMachine", reported: says(metav1.ConditionFalse), late: true}, metav1.ConditionFalse,
			"BootstrapFailed", []string{"no licence"}, 5 * time.Minute,
		},
		"late, nothing known": {
			boot{infrastructure: "its AWSMachine", late: true, since: since, service: "rke2-agent.service"},
			metav1.ConditionUnknown, "BootstrapOverdue", []string{
				"since 2026-12-02T10:00:00Z and no Node yet; its AWSMachine says nothing of the bootstrap. Look at its console",
				"/run/cluster-api/bootstrap-failure (what failed), /run/cluster-api/bootstrap.log (all output) and journalctl --unit rke2-agent.service",
			}, 5 * time.Minute,
		},
		"late, RKE2 runs": {
			boot{infrastructure: "its LabMachine", late: true, reported: says(metav1.ConditionTrue), supervisor: "; RKE2 runs there"},
			metav1.ConditionUnknown, "BootstrapOverdue",
			[]string{"its LabMachine reports that the bootstrap succeeded; RKE2 runs there. Look at"}, 5 * time.Minute,
		},
		"late, still at work": {
			boot{infrastructure: "its LabMachine", late: true, reported: says(metav1.ConditionUnknown)},
			metav1.ConditionUnknown, "BootstrapOverdue", []string{"reports that the bootstrap has not ended"}, 5 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.boot.outcome()
			if got.Status != c.status || got.Reason != c.reason || c.boot.retry() != c.retry {
				t.Errorf("%+v, again after %s", got, c.boot.retry())
			}
			for _, want := range c.want {
				if !strings.Contains(got.Message, want) {
					t.Errorf("message:\n%s\nwant in it:\n%s", got.Message, want)
				}
			}
		})
	}
}

// TestFailureReachesTheConfig has the infrastructure report a failure; when the Node comes after all, all is well.
func TestFailureReachesTheConfig(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	infra := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "TestMachine",
		"metadata": map[string]any{"namespace": w.namespace, "name": "cp-1"},
	}}
	w.Expect(unstructured.SetNestedSlice(infra.Object, []any{map[string]any{
		"type": "BootstrapExecSucceeded", "status": "False", "reason": "BootstrapFailed", "message": "no licence",
		"lastTransitionTime": "2026-12-02T10:00:00Z",
	}}, "status", "conditions")).To(Succeed())
	w.Expect(api.Create(w.ctx, infra)).To(Succeed())
	w.server("cp-1", nil)
	w.hasData("cp-1")
	machine := &clusterv1.Machine{}
	w.Expect(api.Get(w.ctx, w.key("cp-1"), machine)).To(Succeed())
	machine.Labels["looked-at"] = "again"
	w.Expect(api.Update(w.ctx, machine)).To(Succeed())
	w.eventually(func(g Gomega) {
		config := w.config("cp-1")
		ready := conditions.Get(config, bootstrapv1.ReadyCondition)
		g.Expect(conditions.IsFalse(config, bootstrapv1.BootstrapSucceededCondition)).To(BeTrue())
		g.Expect(ready).To(HaveField("Status", metav1.ConditionFalse))
		g.Expect(ready.Message).To(Equal("its TestMachine reports that the bootstrap failed: no licence"))
		g.Expect(conditions.IsTrue(config, bootstrapv1.DataSecretAvailableCondition)).To(BeTrue())
	})
	w.patchStatus(machine, func() { machine.Status.NodeRef.Name = "node-1" })
	w.eventually(func(g Gomega) {
		g.Expect(conditions.IsTrue(w.config("cp-1"), bootstrapv1.BootstrapSucceededCondition)).To(BeTrue())
		g.Expect(conditions.IsTrue(w.config("cp-1"), bootstrapv1.ReadyCondition)).To(BeTrue())
	})
}
