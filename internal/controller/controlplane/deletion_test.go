package controlplane

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

func TestDeletionFromHalfMadeStates(t *testing.T) {
	for name, prepare := range map[string]func(w *world){
		"nothing but the object": func(w *world) {
			w.awaitCondition(controlplanev1.ScalingUpCondition, metav1.ConditionTrue)
		},
		"a first Machine that never started": func(w *world) {
			w.create(w.template())
			w.poke("template is there")
			w.awaitMachines(1)
		},
		"a Machine, and the template gone": func(w *world) {
			w.create(w.template())
			w.poke("template is there")
			w.awaitMachines(1)
			w.g.Expect(api.Delete(w.ctx, w.template())).To(Succeed())
		},
		"three servers that can't be reached any more": func(w *world) {
			w.create(w.template())
			seen.show(w.namespace, joined)
			w.poke("template is there")
			w.awaitMachines(3)
			w.awaitCondition(controlplanev1.InitializedCondition, metav1.ConditionTrue)
			seen.show(w.namespace, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.controlPlane()
			prepare(w)
			w.g.Expect(api.Delete(w.ctx, w.get())).To(Succeed())
			w.g.Eventually(w.get).WithTimeout(patience).Should(BeNil(), "conditions: %s", w.texts())
			w.g.Expect(w.machines()).To(BeEmpty())
		})
	}
}

func TestDeletionWithoutCluster(t *testing.T) {
	w := newWorld(t)
	w.controlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.OwnerReferences = nil
		cp.Finalizers = []string{controlplanev1.RKE2ControlPlaneFinalizer, controlplanev1.RKE2ControlPlaneLegacyFinalizer}
	})
	w.g.Expect(api.Delete(w.ctx, w.get())).To(Succeed())
	w.g.Eventually(w.get).WithTimeout(patience).Should(BeNil())
}
