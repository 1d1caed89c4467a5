package scope_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
	"github.com/drover-project/drover/internal/world/worldtest"
)

func TestLoad(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	w.AddServer(0)
	w.AddServer(1)
	labels := map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.MachineControlPlaneLabel: ""}
	w.Create(w.Management, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "foreign", Labels: labels}})
	w.Create(w.Management, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "worker", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}})
	g.Expect(w.Management.Delete(t.Context(), w.Scope().Infrastructure["m1"].Object)).To(Succeed())

	s := w.Scope()
	g.Expect(s.Names()).To(Equal([]string{"m0", "m1"}))
	g.Expect(s.Foreign.Names()).To(Equal([]string{"foreign"}))
	g.Expect(s.NodeNames()).To(Equal([]string{"n0", "n1"}))
	g.Expect(s.Configs).To(And(HaveLen(2), HaveKey("m0")))
	g.Expect(s.Infrastructure["m0"].Object).NotTo(BeNil())
	g.Expect(s.Infrastructure["m1"]).To(And(HaveField("Missing", true), HaveField("Err", BeNil())))
	g.Expect(s.Template.Object.GetName()).To(Equal("t"))
}

func TestAnUnknownKindIsNotMissing(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	cp := w.Scope().ControlPlane
	cp.Spec.MachineTemplate.Spec.InfrastructureRef.Kind = "MetalTemplate"
	s, err := scope.Load(t.Context(), w.Management, w.Management, cp)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Template.Missing).To(BeFalse())
	g.Expect(s.Template.Err).To(MatchError(ContainSubstring("read MetalTemplate demo/t")))
}

func TestLoadWithoutCluster(t *testing.T) {
	g := NewWithT(t)
	w := worldtest.New(t, 0)
	cp := w.Scope().ControlPlane
	cp.OwnerReferences[0].Name = "gone"
	_, err := scope.Load(t.Context(), w.Management, w.Management, cp)
	g.Expect(err).To(And(MatchError(scope.ErrNoCluster), MatchError(ContainSubstring("gone"))))
	cp.OwnerReferences = nil
	_, err = scope.Load(t.Context(), w.Management, w.Management, cp)
	g.Expect(err).To(MatchError(scope.ErrNoCluster))
}

// Etcd of a legacy cluster is hidden until a Secret holds its authority.
func TestHiddenEtcd(t *testing.T) {
	g := NewWithT(t)
	legacy := func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Annotations = map[string]string{controlplanev1.LegacyAnnotation: ""}
	}
	datastore := func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Spec.ServerConfig.ExternalDatastoreSecret = &corev1.ObjectReference{Name: "db"}
	}
	for name, c := range map[string]struct {
		change         []func(*controlplanev1.RKE2ControlPlane)
		secret, hidden bool
		authorities    int
	}{
		"an ordinary cluster":         {authorities: 4},
		"a legacy one":                {change: []func(*controlplanev1.RKE2ControlPlane){legacy}, hidden: true, authorities: 2},
		"a legacy one that is opened": {change: []func(*controlplanev1.RKE2ControlPlane){legacy}, secret: true, authorities: 4},
		"a legacy one with datastore": {change: []func(*controlplanev1.RKE2ControlPlane){legacy, datastore}, authorities: 2},
		"a datastore":                 {change: []func(*controlplanev1.RKE2ControlPlane){datastore}, authorities: 4},
	} {
		w := worldtest.New(t, 0)
		cp := w.Scope().ControlPlane
		for _, change := range c.change {
			change(cp)
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "c-etcd"}}
		g.Expect(client.IgnoreNotFound(w.Management.Delete(t.Context(), secret))).To(Succeed())
		if c.secret {
			_, err := secrets.EnsureCA(t.Context(), w.Management, w.Management, client.ObjectKey{Namespace: "demo", Name: "c"}, secrets.EtcdCA, metav1.OwnerReference{})
			g.Expect(err).NotTo(HaveOccurred())
		}
		s, err := scope.Load(t.Context(), w.Management, w.Management, cp)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(s.HiddenEtcd).To(Equal(c.hidden), name)
		g.Expect(s.Authorities()).To(HaveLen(c.authorities), name)
	}
}

func TestRegistrationAddresses(t *testing.T) {
	g := NewWithT(t)
	for method, want := range map[controlplanev1.RegistrationMethod][]string{
		"": {"10.0.0.100:9345"},
		controlplanev1.RegistrationControlPlaneEndpoint: {"10.0.0.100:9345"},
		controlplanev1.RegistrationAddress:              {"register.example.org:9345"},
		controlplanev1.RegistrationInternalFirst:        {"10.0.0.1:9345", "[fd00::3]:9345"},
		controlplanev1.RegistrationInternalOnlyIPs:      {"10.0.0.1:9345", "[fd00::3]:9345"},
		controlplanev1.RegistrationExternalOnlyIPs:      {"10.0.0.1:9345", "[fd00::3]:9345"},
	} {
		s := worldtest.New(t, 0).Scope()
		s.ControlPlane.Spec.RegistrationMethod = method
		s.ControlPlane.Spec.RegistrationAddress = "register.example.org"
		s.ControlPlane.Status.AvailableServerIPs = []string{"10.0.0.1", "fd00::3"}
		g.Expect(s.RegistrationAddresses()).To(Equal(want), string(method))
	}
}
