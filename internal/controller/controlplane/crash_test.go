package controlplane

import (
	"errors"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
)

// A failed action leaves a reason, and the next attempt starts clean.
func TestFailedActionIsShownAndTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	var broken atomic.Bool
	broken.Store(true)
	seen.fail(w.namespace, func(model.Action) error {
		if broken.Load() {
			return errors.New("the cloud is full")
		}
		return nil
	})
	w.controlPlane()
	w.awaitCondition(controlplanev1.ScalingUpCondition, metav1.ConditionTrue, "Failed to create a Machine (first server)", "the cloud is full")
	broken.Store(false)
	w.awaitMachines(1)
	w.g.Expect(w.configs()).To(HaveLen(1))
	w.g.Expect(w.infra()).To(HaveLen(1))
}

// A manager that dies between the writes of a new server leaves no trace: the
// next one clears away what was made and makes one server.
func TestCrashWhileAServerIsMade(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	var crashed atomic.Bool
	seen.fail(w.namespace, func(action model.Action) error {
		if _, creates := action.(model.CreateMachine); !creates || crashed.Swap(true) {
			return nil
		}
		leftover := &bootstrapv1.RKE2Config{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "demo-cp-dead", Labels: map[string]string{
				clusterv1.ClusterNameLabel: "demo", clusterv1.MachineControlPlaneLabel: "", clusterv1.MachineControlPlaneNameLabel: "demo-cp",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: controlplanev1.GroupVersion.String(), Kind: "RKE2ControlPlane", Name: "demo-cp", UID: w.get().UID,
			}},
		}}
		return errors.Join(errors.New("the manager died"), api.Create(w.ctx, leftover))
	})
	w.controlPlane()
	w.awaitMachines(1)
	w.g.Expect(crashed.Load()).To(BeTrue())
	w.g.Expect(w.configs()).To(ConsistOf(HaveField("Name", Not(Equal("demo-cp-dead")))))
	w.g.Expect(w.infra()).To(HaveLen(1))
}
