package bootstrap

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
)

const patience = 20 * time.Second

// TestFirstServer walks through everything the first server waits for. Only watches lead from one wait to the next.
func TestFirstServer(t *testing.T) {
	w := newWorld(t)
	w.server("cp-1", nil)
	w.waits("cp-1", bootstrapv1.WaitingForClusterInfrastructureReason, "waiting for the infrastructure of Cluster demo")

	w.provision()
	w.waits("cp-1", bootstrapv1.DataSecretNotAvailableReason, "does not exist")
	w.eventually(func(g Gomega) {
		certificates := conditions.Get(w.config("cp-1"), bootstrapv1.CertificatesAvailableCondition)
		g.Expect(certificates).NotTo(BeNil())
		g.Expect(certificates.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(certificates.Reason).To(Equal(bootstrapv1.CertificatesNotAvailableReason))
	})
	w.secrets()
	secret := w.hasData("cp-1")

	w.Expect(string(secret.Type)).To(Equal("cluster.x-k8s.io/secret"))
	w.Expect(secret.Labels).To(HaveKeyWithValue("cluster.x-k8s.io/cluster-name", "demo"))
	w.Expect(string(secret.Data["format"])).To(Equal("cloud-config"))
	w.Expect(metav1.IsControlledBy(secret, w.config("cp-1"))).To(BeTrue())

	files := filesOf(w, secret)
	for purpose, path := range map[secrets.Purpose]string{
		secrets.ServerCA: "server-ca", secrets.ClientCA: "client-ca", secrets.EtcdCA: "etcd/server-ca", secrets.EtcdPeerCA: "etcd/peer-ca",
	} {
		pair, err := secrets.LookupCA(w.ctx, api, w.key("demo"), purpose)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(files["/var/lib/rancher/rke2/server/tls/"+path+".crt"]).To(Equal(string(pair.Cert)))
		w.Expect(files["/var/lib/rancher/rke2/server/tls/"+path+".key"]).To(Equal(string(pair.Key)))
	}
	token, err := secrets.LookupToken(w.ctx, api, w.key("demo"))
	w.Expect(err).NotTo(HaveOccurred())
	want := map[string]any{
		"token": token, "cluster-cidr": "10.45.0.0/16", "service-cidr": "10.46.0.0/16", "tls-san": []any{"10.0.0.1"},
		"disable-cloud-controller": true,
	}
	w.Expect(cmp.Diff(want, nodeConfig(w, secret))).To(BeEmpty())
	w.Expect(files["/etc/rancher/rke2/bootstrap.sh"]).To(ContainSubstring("INSTALL_RKE2_VERSION='v1.36.3+rke2r1' INSTALL_RKE2_TYPE=server"))

	lock := &corev1.ConfigMap{}
	w.Expect(api.Get(w.ctx, w.key("demo-lock"), lock)).To(Succeed())
	w.Expect(lock.Data).To(HaveKeyWithValue("lock-information", `{"machineName":"cp-1"}`))

	config := w.config("cp-1")
	w.Expect(config.Status.ObservedGeneration).To(Equal(config.Generation))
	for _, condition := range []string{
		bootstrapv1.ReadyCondition, bootstrapv1.DataSecretAvailableCondition, bootstrapv1.CertificatesAvailableCondition,
	} {
		w.Expect(conditions.IsTrue(config, condition)).To(BeTrue(), condition)
	}
	w.Expect(conditions.IsFalse(config, clusterv1.PausedCondition)).To(BeTrue())
}

func TestJoiningServer(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.server("cp-1", nil)
	w.hasData("cp-1")
	w.initialize()
	w.server("cp-2", nil)
	config := nodeConfig(w, w.hasData("cp-2"))
	w.Expect(config).To(HaveKeyWithValue("server", "https://10.0.0.1:9345"))
	w.Expect(config).To(HaveKeyWithValue("disable-cloud-controller", true))
	for path := range filesOf(w, w.hasData("cp-2")) {
		w.Expect(path).NotTo(ContainSubstring("/server/tls/"))
	}
	w.Expect(apierrors.IsNotFound(api.Get(w.ctx, w.key("demo-lock"), &corev1.ConfigMap{}))).To(BeTrue(), "the lock is still there")
}

// TestServerKeepsTheConfigItWasMadeWith has the control plane change between the making of a Machine and its data.
func TestServerKeepsTheConfigItWasMadeWith(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.server("cp-1", func(m *clusterv1.Machine) {
		m.Annotations = map[string]string{controlplanev1.ServerConfigurationAnnotation: `{"cni":"cilium"}`}
	})
	config := nodeConfig(w, w.hasData("cp-1"))
	w.Expect(config).To(HaveKeyWithValue("cni", []any{"cilium"}))
	w.Expect(config).NotTo(HaveKey("disable-cloud-controller"))
}

func TestOwnerOfAnotherAPIVersion(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.server("cp-1", func(m *clusterv1.Machine) {
		m.OwnerReferences[0].APIVersion = controlplanev1.GroupVersion.Group + "/v1beta1"
	})
	w.Expect(nodeConfig(w, w.hasData("cp-1"))).NotTo(HaveKey("server"))
}

func TestWorker(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.worker("md-1", nil)
	w.waits("md-1", bootstrapv1.WaitingForControlPlaneInitializedReason, "waiting for the first server of Cluster demo to come up")
	w.initialize()
	secret := w.hasData("md-1")
	token, err := secrets.LookupToken(w.ctx, api, w.key("demo"))
	w.Expect(err).NotTo(HaveOccurred())
	want := map[string]any{"token": w.pinned("node", token), "server": "https://10.0.0.1:9345", "cloud-provider-name": "external"}
	w.Expect(cmp.Diff(want, nodeConfig(w, secret))).To(BeEmpty())
}

func TestJoinThroughServers(t *testing.T) {
	w := newWorld(t)
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Spec.RegistrationMethod = controlplanev1.RegistrationInternalFirst
	})
	w.provision()
	w.secrets()
	w.initialize()
	w.server("cp-2", func(m *clusterv1.Machine) {
		m.Status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "10.0.0.12"}}
	})
	w.waits("cp-2", bootstrapv1.DataSecretNotAvailableReason, "waiting for RKE2ControlPlane demo to list a server")

	cp := w.controlPlane()
	w.patchStatus(cp, func() { cp.Status.AvailableServerIPs = []string{"10.0.0.12"} })
	w.waits("cp-2", bootstrapv1.DataSecretNotAvailableReason, "waiting for RKE2ControlPlane demo to list a server")

	w.patchStatus(cp, func() { cp.Status.AvailableServerIPs = []string{"10.0.0.12", "fd00::11"} })
	w.Expect(nodeConfig(w, w.hasData("cp-2"))).To(HaveKeyWithValue("server", "https://[fd00::11]:9345"))
}

// TestLock has two Machines that could both start the cluster.
func TestLock(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.server("cp-1", nil)
	w.hasData("cp-1")
	w.server("cp-2", nil)
	w.waits("cp-2", bootstrapv1.WaitingForControlPlaneInitializedReason, "waiting for Machine cp-1, which is to become the first server")

	w.Expect(api.Delete(w.ctx, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cp-1"}})).To(Succeed())
	w.Expect(nodeConfig(w, w.hasData("cp-2"))).NotTo(HaveKey("server"))
	lock := &corev1.ConfigMap{}
	w.Expect(api.Get(w.ctx, w.key("demo-lock"), lock)).To(Succeed())
	w.Expect(lock.Data).To(HaveKeyWithValue("lock-information", `{"machineName":"cp-2"}`))
}

// TestStaleClusterStartsNoSecondCluster asks for the lock with a Cluster that was read before its initialization.
func TestStaleClusterStartsNoSecondCluster(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.server("cp-1", nil)
	stale := &target{config: w.config("cp-1"), machine: w.machine("cp-1"), cluster: w.cluster()}
	w.initialize()
	err := underTest.lock(w.ctx, stale)
	w.Expect(err).To(MatchError(ContainSubstring("was just initialized")))
	w.Expect(apierrors.IsNotFound(api.Get(w.ctx, w.key("demo-lock"), &corev1.ConfigMap{}))).To(BeTrue(), "a lock was made")
}

func TestPaused(t *testing.T) {
	w := newWorld(t)
	w.updateCluster(func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	w.provision()
	w.secrets()
	w.server("cp-1", nil)
	w.eventually(func(g Gomega) {
		g.Expect(conditions.IsTrue(w.config("cp-1"), clusterv1.PausedCondition)).To(BeTrue())
	})
	w.Expect(conditions.Has(w.config("cp-1"), bootstrapv1.DataSecretAvailableCondition)).To(BeFalse())
	w.updateCluster(func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(false) })
	w.hasData("cp-1")
	w.Expect(conditions.IsFalse(w.config("cp-1"), clusterv1.PausedCondition)).To(BeTrue())
}

// TestMovedObjects has a Machine that got its data before the objects were moved here without their status.
func TestMovedObjects(t *testing.T) {
	w := newWorld(t)
	w.server("cp-1", func(m *clusterv1.Machine) { m.Spec.Bootstrap.DataSecretName = ptr.To("earlier") })
	w.eventually(func(g Gomega) {
		config := w.config("cp-1")
		g.Expect(config.Status.DataSecretName).To(HaveValue(Equal("earlier")))
		g.Expect(config.Status.Initialization.DataSecretCreated).To(HaveValue(BeTrue()))
		g.Expect(conditions.IsTrue(config, bootstrapv1.ReadyCondition)).To(BeTrue())
	})
	w.Expect(apierrors.IsNotFound(api.Get(w.ctx, w.key("cp-1"), &corev1.Secret{}))).To(BeTrue(), "data were made again")
}

// TestDataAreMadeOnce changes the config after its data were made, and looks for writes without a change.
func TestDataAreMadeOnce(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.server("cp-1", nil)
	before := w.hasData("cp-1")
	config := w.config("cp-1")
	w.patch(config, func() { config.Spec.PreRKE2Commands = []string{"true"} })
	w.eventually(func(g Gomega) {
		config = w.config("cp-1")
		g.Expect(config.Status.ObservedGeneration).To(Equal(config.Generation))
	})
	w.Expect(w.hasData("cp-1").ResourceVersion).To(Equal(before.ResourceVersion))

	direct := &Reconciler{Client: api, APIReader: api}
	_, err := direct.Reconcile(w.ctx, ctrl.Request{NamespacedName: w.key("cp-1")})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.config("cp-1").ResourceVersion).To(Equal(config.ResourceVersion), "written without a change")
}

func TestWatchFilter(t *testing.T) {
	w := newWorld(t)
	w.updateCluster(func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	w.server("cp-1", nil)
	w.eventually(func(g Gomega) {
		g.Expect(conditions.IsTrue(w.config("cp-1"), clusterv1.PausedCondition)).To(BeTrue())
	})
	direct := &Reconciler{Client: api, APIReader: api, WatchFilter: "blue"}
	before := w.config("cp-1")
	w.updateControlPlane(func(*controlplanev1.RKE2ControlPlane) {})
	_, err := direct.Reconcile(w.ctx, ctrl.Request{NamespacedName: w.key("cp-1")})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.config("cp-1").ResourceVersion).To(Equal(before.ResourceVersion))
}

func TestClusterOfSecret(t *testing.T) {
	for name, want := range map[string]string{
		"demo-ca": "demo", "demo-cca": "demo", "demo-etcd": "demo", "demo-peer-etcd": "demo", "demo-token": "demo",
		"a-ca-ca": "a-ca", "demo-kubeconfig": "", "demo": "", "-ca": "", "other": "",
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if got := clusterOfSecret(secret); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: "demo-peer-etcd", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo-peer"},
	}}
	if got := clusterOfSecret(secret); got != "demo-peer" {
		t.Errorf("the label does not count: %q", got)
	}
}

func filesOf(w *world, secret *corev1.Secret) map[string]string {
	w.Helper()
	var document struct {
		Files []struct{ Path, Content string } `json:"write_files"`
	}
	w.Expect(yaml.Unmarshal(secret.Data["value"], &document)).To(Succeed())
	files := map[string]string{}
	for _, f := range document.Files {
		files[f.Path] = f.Content
	}
	return files
}

func nodeConfig(w *world, secret *corev1.Secret) map[string]any {
	w.Helper()
	config := map[string]any{}
	w.Expect(yaml.Unmarshal([]byte(filesOf(w, secret)["/etc/rancher/rke2/config.yaml"]), &config)).To(Succeed())
	return config
}
