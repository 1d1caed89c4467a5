package takeover_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// grown is a cluster that was taken over, and the server that was added to it.
type grown struct {
	*incumbent
	controlPlane *controlplanev1.RKE2ControlPlane
	machine      *clusterv1.Machine
	config       *bootstrapv1.RKE2Config
	infra        *unstructured.Unstructured
	data         *corev1.Secret
}

// grow adds a fourth server and plays core's part for it.
func (in *incumbent) grow() grown {
	in.Helper()
	in.change(func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.Replicas = ptr.To[int32](4) })
	out := grown{incumbent: in}
	in.Eventually(func(g Gomega) {
		for _, m := range in.machines() {
			if _, old := before(m.Name); !old {
				out.machine = &m
			}
		}
		g.Expect(out.machine).NotTo(BeNil())
	}).WithTimeout(patience).Should(Succeed())
	config := &bootstrapv1.RKE2Config{}
	in.get(out.machine.Spec.Bootstrap.ConfigRef.Name, config)
	owned := config.DeepCopy()
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(out.machine, clusterv1.GroupVersion.WithKind("Machine"))}
	in.Expect(api.Patch(in.ctx, owned, client.MergeFrom(config), coreManager)).To(Succeed())
	out.config, out.data = &bootstrapv1.RKE2Config{}, &corev1.Secret{}
	in.Eventually(func(g Gomega) {
		in.get(config.Name, out.config)
		g.Expect(out.config.Status.DataSecretName).NotTo(BeNil(), asJSON(in.T, out.config.Status))
	}).WithTimeout(patience).Should(Succeed())
	in.get(*out.config.Status.DataSecretName, out.data)
	out.infra = &unstructured.Unstructured{}
	out.infra.SetAPIVersion(infraGroup + "/v1")
	out.infra.SetKind("TestMachine")
	in.get(out.machine.Spec.InfrastructureRef.Name, out.infra)
	out.controlPlane = in.readControlPlane()
	return out
}

// expectations are what the former provider looks for in objects that it did
// not make. Each is a subject and what of it must hold.
func expectations() map[string]func(g grown) {
	return map[string]func(g grown){
		"the Machine's record equals the spec as it compares them": func(g grown) {
			var recorded controlplanev1.RKE2ServerConfig
			g.Expect(json.Unmarshal([]byte(g.machine.Annotations["controlplane.cluster.x-k8s.io/rke2-server-configuration"]), &recorded)).To(Succeed())
			g.Expect(recorded).To(Equal(g.controlPlane.Spec.ServerConfig))
		},
		"the RKE2Config's spec equals the control plane's": func(g grown) {
			g.Expect(g.config.Spec).To(Equal(g.controlPlane.Spec.RKE2ConfigSpec))
		},
		"the Machine has the release": func(g grown) {
			g.Expect(g.machine.Spec.Version).To(Equal(g.controlPlane.Spec.Version))
		},
		"the Machine has the hook under its name": func(g grown) {
			g.Expect(g.machine.Annotations).To(HaveKey("pre-terminate.delete.hook.machine.cluster.x-k8s.io/rke2-cleanup"))
			for key := range g.machine.Annotations {
				if strings.HasPrefix(key, clusterv1.PreTerminateDeleteHookAnnotationPrefix) {
					g.Expect(key).To(HaveSuffix("/rke2-cleanup"), "it would wait for a hook it does not know")
				}
				if strings.HasPrefix(key, clusterv1.PreDrainDeleteHookAnnotationPrefix) {
					g.Expect(key).To(HaveSuffix("/rke2-lb-exclusion"), "it would leave a hook on for ever")
				}
			}
		},
		"the Machine is controlled by the control plane, in its current version": func(g grown) {
			g.Expect(g.machine.OwnerReferences).To(ConsistOf(And(
				HaveField("APIVersion", "controlplane.cluster.x-k8s.io/v1beta2"), HaveField("Kind", "RKE2ControlPlane"),
				HaveField("Name", "demo-cp"), HaveField("UID", g.controlPlane.UID), HaveField("Controller", HaveValue(BeTrue())),
			)))
		},
		"the server's objects have their labels": func(g grown) {
			for _, obj := range []client.Object{g.machine, g.config, g.infra} {
				g.Expect(obj.GetLabels()).To(HaveKeyWithValue("cluster.x-k8s.io/cluster-name", "demo"))
				g.Expect(obj.GetLabels()).To(HaveKeyWithValue("cluster.x-k8s.io/control-plane", ""))
				g.Expect(obj.GetLabels()).To(HaveKeyWithValue("cluster.x-k8s.io/control-plane-name", "demo-cp"))
			}
		},
		"the infrastructure machine tells its template": func(g grown) {
			g.Expect(g.infra.GetAnnotations()).To(HaveKeyWithValue("cluster.x-k8s.io/cloned-from-name", "small"))
			g.Expect(g.infra.GetAnnotations()).To(HaveKeyWithValue("cluster.x-k8s.io/cloned-from-groupkind", "TestMachineTemplate."+infraGroup))
		},
		"the bootstrap data have their name, type and keys": func(g grown) {
			g.Expect(g.data.Name).To(Equal(g.config.Name))
			g.Expect(string(g.data.Type)).To(Equal("cluster.x-k8s.io/secret"))
			g.Expect(g.data.Data).To(And(HaveKey("value"), HaveKeyWithValue("format", []byte("cloud-config"))))
		},
		"the bootstrap data hold the token it has": func(g grown) {
			g.Expect(string(g.data.Data["value"])).To(ContainSubstring("0123456789abcdef0123456789abcdef"))
		},
		"the bootstrap data join, and leave the domain that servers agree on": func(g grown) {
			g.Expect(string(g.data.Data["value"])).To(ContainSubstring("https://register.example.org:9345"))
			g.Expect(string(g.data.Data["value"])).NotTo(ContainSubstring("example.internal"))
		},
		"the Secrets of the cluster have their names and keys": func(g grown) {
			for name, keys := range map[string][]string{
				"demo-ca": {"tls.crt", "tls.key"}, "demo-cca": {"tls.crt", "tls.key"}, "demo-etcd": {"tls.crt", "tls.key"},
				"demo-peer-etcd": {"tls.crt", "tls.key"}, "demo-token": {"value"}, "demo-kubeconfig": {"value"},
			} {
				secret := &corev1.Secret{}
				g.get(name, secret)
				for _, key := range keys {
					g.Expect(secret.Data).To(HaveKey(key), name)
				}
				g.Expect(secret.Labels).To(HaveKeyWithValue("cluster.x-k8s.io/cluster-name", "demo"), name)
			}
		},
		"the control plane has its finalizer": func(g grown) {
			g.Expect(g.controlPlane.Finalizers).To(ContainElement("rke2.controlplane.cluster.x-k8s.io"))
		},
		"the control plane keeps the annotations it reads": func(g grown) {
			g.Expect(g.controlPlane.Annotations).To(HaveKeyWithValue("rke2.controlplane.cluster.x-k8s.io/load-balancer-exclusion", "true"))
		},
		"a remediation that is over is none in progress": func(g grown) {
			g.Expect(g.controlPlane.Annotations).NotTo(HaveKey("controlplane.cluster.x-k8s.io/remediation-in-progress"))
		},
		"the control plane tells where to join": func(g grown) {
			g.Expect(g.controlPlane.Status.AvailableServerIPs).To(Equal([]string{"register.example.org"}))
			g.Expect(g.controlPlane.Status.Initialization.ControlPlaneInitialized).To(HaveValue(BeTrue()))
		},
		"no lock is left that another Machine holds": func(g grown) {
			err := api.Get(g.ctx, client.ObjectKey{Namespace: g.namespace, Name: "demo-lock"}, &corev1.ConfigMap{})
			g.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
			g.Expect(err).To(HaveOccurred())
		},
		"what it applies later, it applies under the name we used": func(g grown) {
			for _, m := range g.machines() {
				g.Expect(m.ManagedFields).To(ContainElement(And(
					HaveField("Manager", "rke2controlplane"), HaveField("Operation", metav1.ManagedFieldsOperationApply),
				)), m.Name)
			}
		},
	}
}

// And back: what the former provider looks for is there.
func TestTheFormerProviderWouldFindItsWay(t *testing.T) {
	for _, version := range ownerVersions {
		in := newIncumbent(newWorld(t), releases()[2], version)
		in.adopt()
		in.resync()
		g := in.grow()
		for name, check := range expectations() {
			t.Run(version+": "+name, func(t *testing.T) {
				g := g
				w := *g.world
				w.T, w.WithT = t, NewWithT(t)
				g.incumbent = &incumbent{world: &w, release: in.release, ownerVersion: version}
				check(g)
			})
		}
	}
}
