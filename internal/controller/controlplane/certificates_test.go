package controlplane

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
)

// What servers have on their disks is never made anew once there may be one: a
// new authority or token would lock every later server out of the cluster.
func TestSecretsOfServersAreNotMadeAnew(t *testing.T) {
	for _, name := range []string{"demo-ca", "demo-cca", "demo-etcd", "demo-peer-etcd", secrets.Names("demo").Token, secrets.Names("demo").AgentToken} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(w.template())
			w.controlPlane()
			w.awaitMachines(1)
			w.awaitCondition(controlplanev1.CertificatesAvailableCondition, metav1.ConditionTrue)
			w.g.Expect(api.Delete(w.ctx, w.secret(name))).To(Succeed())
			w.poke("look again")
			w.awaitCondition(controlplanev1.CertificatesAvailableCondition, metav1.ConditionFalse, name, "does not exist")
			w.expectQuiet()
			w.g.Expect(w.secret(name)).To(BeNil())
		})
	}
}

// Trouble with the kubeconfig, here a Secret of the user without content, stops
// no server from being made once the cluster is up.
func TestKubeconfigTroubleStopsNoScaling(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	seen.show(w.namespace, joined)
	w.controlPlane(func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.Replicas = ptr.To[int32](1) })
	w.awaitMachines(1)
	w.g.Eventually(func() map[string]string { return w.get().Annotations }).WithTimeout(patience).Should(HaveKey(controlplanev1.InitializedAnnotation))
	w.replaceSecret("demo-kubeconfig")
	w.update(func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.Replicas = ptr.To[int32](3) })
	w.awaitMachines(3)
	w.g.Expect(w.secret("demo-kubeconfig").Data).To(BeEmpty(), "what a user brought is left alone")
}

// replaceSecret puts a Secret of the user, without content, in place of ours.
func (w *world) replaceSecret(name string) {
	w.Helper()
	secret := w.secret(name)
	before := secret.DeepCopy()
	secret.OwnerReferences, secret.Data = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Thing", Name: "x", UID: "y", Controller: ptr.To(true)}}, nil
	w.g.Expect(api.Patch(w.ctx, secret, client.MergeFrom(before))).To(Succeed())
	w.g.Eventually(func() *corev1.Secret { return w.secret(name) }).WithTimeout(patience).Should(HaveField("Data", BeEmpty()))
}
