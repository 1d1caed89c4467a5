package bootstrap

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
)

func TestPool(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.pool(nil, nil)
	w.waits("pool", bootstrapv1.WaitingForControlPlaneInitializedReason, "waiting for the first server of Cluster demo to come up")
	w.initialize()
	secret := w.hasData("pool")
	w.Expect(metav1.IsControlledBy(secret, w.config("pool"))).To(BeTrue())
	w.Expect(secret.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "demo"))
	token, err := secrets.LookupToken(w.ctx, api, w.key("demo"))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(nodeConfig(w, secret)).To(Equal(map[string]any{"token": w.pinned("node", token), "server": "https://10.0.0.1:9345"}))
	w.Expect(filesOf(w, secret)["/etc/rancher/rke2/bootstrap.sh"]).To(
		ContainSubstring("INSTALL_RKE2_VERSION='v1.36.3+rke2r1' INSTALL_RKE2_TYPE=agent"))
	w.Expect(secret.Annotations[bootstrapv1.MadeFromAnnotation]).NotTo(ContainSubstring(token))
	w.tells("BootstrapDataCreated", "made the bootstrap data of MachinePool pool as worker of v1.36.3+rke2r1")
	w.reconciledWithoutWrite()
}

func TestDataOfAPoolFollow(t *testing.T) {
	w := running(t)
	w.pool(nil, nil)
	w.hasData("pool")

	w.updatePool(func(p *clusterv1.MachinePool) { p.Spec.Template.Spec.Version = "v1.36.4+rke2r1" })
	w.renewed("INSTALL_RKE2_VERSION='v1.36.4+rke2r1'")
	w.tells("BootstrapDataRenewed",
		"made the bootstrap data of MachinePool pool anew: changed version (v1.36.4+rke2r1, before v1.36.3+rke2r1)")

	w.updateConfig(func(c *bootstrapv1.RKE2Config) { c.Spec.PreRKE2Commands = []string{"echo follow"} })
	w.renewed("echo follow")
	w.tells("BootstrapDataRenewed", "made the bootstrap data of MachinePool pool anew: changed configuration")

	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.ServerConfig.CloudProviderName = "external" })
	w.renewed("cloud-provider-name: external")
	w.tells("BootstrapDataRenewed", "made the bootstrap data of MachinePool pool anew: changed content of references or "+
		"settings of the control plane")

	w.updateCluster(func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = "10.0.0.2" })
	w.renewed("https://10.0.0.2:9345")

	token := &corev1.Secret{}
	w.get("demo-token", token)
	w.patch(token, func() { token.Data["value"] = []byte("another-token") })
	w.renewed("another-token")
	w.reconciledWithoutWrite()
}

// A server's settings are among what the data are made from, but most of them reach no worker.
func TestSettingOfServersOnlyChangesNoDataOfAPool(t *testing.T) {
	w := running(t)
	w.pool(nil, nil)
	before := w.hasData("pool")
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.ServerConfig.TLSSan = []string{"example.org"} })
	w.eventually(func(g Gomega) {
		g.Expect(w.data().Annotations[bootstrapv1.MadeFromAnnotation]).NotTo(Equal(before.Annotations[bootstrapv1.MadeFromAnnotation]))
	})
	w.Expect(w.data().Data).To(Equal(before.Data))
}

func TestPoolGoesOnJoiningThroughAServerThatStays(t *testing.T) {
	w := running(t)
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Spec.RegistrationMethod = controlplanev1.RegistrationInternalFirst
	})
	available := func(addresses ...string) {
		t.Helper()
		cp := w.controlPlane()
		w.patchStatus(cp, func() { cp.Status.AvailableServerIPs = addresses })
	}
	available("10.0.0.11", "10.0.0.12")
	w.pool(nil, nil)
	w.Expect(nodeConfig(w, w.hasData("pool"))).To(HaveKeyWithValue("server", "https://10.0.0.11:9345"))

	// The data are made anew, so the reconciler has seen the new order.
	available("10.0.0.12", "10.0.0.11")
	w.updateConfig(func(c *bootstrapv1.RKE2Config) { c.Spec.PreRKE2Commands = []string{"echo order"} })
	w.renewed("echo order")
	w.Expect(nodeConfig(w, w.data())).To(HaveKeyWithValue("server", "https://10.0.0.11:9345"))

	available("10.0.0.12")
	w.renewed("https://10.0.0.12:9345")
	w.tells("BootstrapDataRenewed",
		"made the bootstrap data of MachinePool pool anew: changed address to join through (10.0.0.12, before 10.0.0.11)")

	// A server that is there and not well for a moment keeps its address.
	w.server("cp-1", func(m *clusterv1.Machine) {
		m.Spec.Bootstrap.DataSecretName = ptr.To("earlier")
		m.Status.Addresses = []clusterv1.MachineAddress{{Type: clusterv1.MachineInternalIP, Address: "10.0.0.12"}}
	})
	available("10.0.0.13")
	w.reconciledWithoutWrite()
	w.Expect(api.Delete(w.ctx, w.machine("cp-1"))).To(Succeed())
	available("10.0.0.13", "10.0.0.14")
	w.renewed("https://10.0.0.13:9345")
}

// Data that exist stay when they cannot be brought up to date, and are said to be what they are.
func TestPoolWithAMissingReference(t *testing.T) {
	w := running(t)
	w.pool(nil, func(c *bootstrapv1.RKE2Config) {
		c.Spec.Files = []bootstrapv1.File{{Path: "/etc/motd", ContentFrom: &bootstrapv1.FileSource{
			ConfigMap: &bootstrapv1.FileSourceRef{Name: "motd", Key: "motd"},
		}}}
	})
	w.waits("pool", bootstrapv1.DataSecretNotAvailableReason, "/motd does not exist")
	motd := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "motd"}, Data: map[string]string{"motd": "hello"}}
	w.Expect(api.Create(w.ctx, motd)).To(Succeed())
	w.updateConfig(func(c *bootstrapv1.RKE2Config) { c.Spec.PreRKE2Commands = []string{"true"} })
	w.hasData("pool")
	// A look that began before the update may have made data without it.
	w.renewed("preRKE2Commands[0]")
	before := w.data()
	w.Expect(filesOf(w, before)).To(HaveKeyWithValue("/etc/motd", "hello"))

	w.Expect(api.Delete(w.ctx, motd)).To(Succeed())
	w.updateConfig(func(c *bootstrapv1.RKE2Config) { c.Spec.PreRKE2Commands = []string{"false"} })
	w.outdated("/motd does not exist")
	w.Expect(w.data().ResourceVersion).To(Equal(before.ResourceVersion))

	motd.ResourceVersion = ""
	w.Expect(api.Create(w.ctx, motd)).To(Succeed())
	w.updateConfig(func(c *bootstrapv1.RKE2Config) { c.Spec.PreRKE2Commands = []string{"echo again"} })
	w.renewed("echo again")
	w.hasData("pool")
}

// outdated waits until the conditions say that there are data, and why they are not up to date.
func (w *world) outdated(why string) {
	w.Helper()
	w.eventually(func(g Gomega) {
		config := w.config("pool")
		data := conditions.Get(config, bootstrapv1.DataSecretAvailableCondition)
		ready := conditions.Get(config, bootstrapv1.ReadyCondition)
		g.Expect(ready.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(ready.Message).To(And(HavePrefix("the data could not be brought up to date"), ContainSubstring(why)))
		g.Expect(data.Status).To(Equal(metav1.ConditionTrue))
		g.Expect(data.Message).To(Equal(ready.Message))
		g.Expect(config.Status.Initialization.DataSecretCreated).To(HaveValue(BeTrue()))
		g.Expect(config.Status.DataSecretName).To(HaveValue(Equal("pool")))
	})
}

func TestPoolWithOneNameForAll(t *testing.T) {
	w := running(t)
	w.pool(func(p *clusterv1.MachinePool) { p.Spec.Replicas = ptr.To[int32](2) },
		func(c *bootstrapv1.RKE2Config) { c.Spec.AgentConfig.NodeName = "node-1" })
	w.waits("pool", bootstrapv1.DataSecretNotAvailableReason,
		`agentConfig.nodeName: "node-1": the 2 machines of MachinePool pool cannot have one name`)
	w.updatePool(func(p *clusterv1.MachinePool) { p.Spec.Replicas = ptr.To[int32](1) })
	w.hasData("pool")
	w.updatePool(func(p *clusterv1.MachinePool) { p.Spec.Replicas = ptr.To[int32](3) })
	w.outdated("the 3 machines of MachinePool pool cannot have one name")
}

func TestVersionOfAPool(t *testing.T) {
	w := running(t)
	w.pool(func(p *clusterv1.MachinePool) { p.Spec.Template.Spec.Version = "v1.36.3" }, nil)
	w.waits("pool", bootstrapv1.DataSecretNotAvailableReason, `MachinePool pool: spec.template.spec.version: "v1.36.3" is not an RKE2 version`)
}

func TestPausedPool(t *testing.T) {
	w := running(t)
	w.pool(nil, nil)
	before := w.hasData("pool")
	w.pause()
	w.updatePool(func(p *clusterv1.MachinePool) { p.Spec.Template.Spec.Version = "v1.36.4+rke2r1" })
	w.reconciledWithoutWrite()
	w.Expect(w.data().ResourceVersion).To(Equal(before.ResourceVersion))
	w.resume()
	w.renewed("v1.36.4+rke2r1")
}

// Data that were deleted are made again.
func TestDeletedDataOfAPool(t *testing.T) {
	w := running(t)
	w.pool(nil, nil)
	before := w.hasData("pool")
	w.Expect(api.Delete(w.ctx, before)).To(Succeed())
	w.updateConfig(func(c *bootstrapv1.RKE2Config) { c.Spec.PreRKE2Commands = []string{"echo again"} })
	w.renewed("echo again")
}

func TestPoolThatIsDeleted(t *testing.T) {
	w := running(t)
	w.pool(func(p *clusterv1.MachinePool) { p.Finalizers = []string{"example.org/test"} }, nil)
	before := w.hasData("pool")
	pool := &clusterv1.MachinePool{}
	w.get("pool", pool)
	w.Expect(api.Delete(w.ctx, pool)).To(Succeed())
	w.updatePool(func(p *clusterv1.MachinePool) { p.Spec.Template.Spec.Version = "v1.36.4+rke2r1" })
	w.reconciledWithoutWrite()
	w.Expect(w.data().ResourceVersion).To(Equal(before.ResourceVersion))
	w.updatePool(func(p *clusterv1.MachinePool) { p.Finalizers = nil })
}
