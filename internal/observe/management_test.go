package observe_test

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
	"github.com/drover-project/drover/internal/world/worldtest"
)

func TestRegistration(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for name, tt := range map[string]struct {
		err   error
		known bool
		value bool
		dials int
	}{
		"answers":    {known: true, value: true, dials: 1},
		"is refused": {err: refused, known: true, dials: 2},
		"times out":  {err: errors.New("i/o timeout"), dials: 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := worldtest.New(t, 0)
			w.AddServer(0) // One of three: more will join.
			n := &network{err: tt.err}
			o := observer(w, n)
			look(t, w, o)
			c := look(t, w, o).Cluster
			g.Expect(c.RegistrationAddress).To(Equal("10.0.0.100:9345"))
			g.Expect(c.Registration.Known).To(Equal(tt.known))
			g.Expect(c.Registration.Value).To(Equal(tt.value))
			g.Expect(n.dials).To(Equal(tt.dials), "only a success is remembered")
		})
	}
}

func TestMissingSecretIsNamed(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	gone := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: secrets.Names("c").Token}}
	g.Expect(w.Management.Delete(t.Context(), gone)).To(Succeed())
	c := look(t, w, observer(w, &network{})).Cluster
	g.Expect(c.Certificates).To(And(HaveField("Known", true), HaveField("Value", false)))
	g.Expect(c.CertificateProblem).To(ContainSubstring("demo/c-token"))
}

func TestProblemsOfTheSpec(t *testing.T) {
	surge := func(v intstr.IntOrString) *controlplanev1.RolloutStrategy {
		return &controlplanev1.RolloutStrategy{RollingUpdate: &controlplanev1.RollingUpdate{MaxSurge: &v}}
	}
	for name, tt := range map[string]struct {
		change func(*controlplanev1.RKE2ControlPlaneSpec)
		want   string
	}{
		"version":      {func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Version = "latest" }, "spec.version"},
		"percentage":   {func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RolloutStrategy = surge(intstr.FromString("50%")) }, "50%"},
		"surge of two": {func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RolloutStrategy = surge(intstr.FromInt32(2)) }, "0 or 1"},
		"no surge, one only": {func(s *controlplanev1.RKE2ControlPlaneSpec) {
			s.Replicas, s.RolloutStrategy = ptr.To[int32](1), surge(intstr.FromInt32(0))
		}, "at least 3"},
		"unknown rollout": {func(s *controlplanev1.RKE2ControlPlaneSpec) {
			s.RolloutStrategy = &controlplanev1.RolloutStrategy{Type: "OnDelete"}
		}, "OnDelete"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := worldtest.New(t, 0)
			s := w.Scope()
			tt.change(&s.ControlPlane.Spec)
			snap, err := observer(w, &network{}).Observe(t.Context(), s)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Join(snap.ControlPlane.Problems, "; ")).To(ContainSubstring(tt.want))
		})
	}
}

func TestWorkersCountOnDeletion(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	labels := map[string]string{clusterv1.ClusterNameLabel: "c"}
	w.Create(w.Management, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "worker", Labels: labels}})
	w.Create(w.Management, &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "pool", Labels: labels}})
	g.Expect(look(t, w, observer(w, &network{})).Cluster.Workers).To(BeZero())
	g.Expect(w.Management.Delete(t.Context(), w.ControlPlane.DeepCopy())).To(Succeed())
	g.Expect(look(t, w, observer(w, &network{})).Cluster.Workers).To(Equal(2))
}
