package bootstrap

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
)

// world is a namespace with a Cluster and an RKE2ControlPlane, both called demo. The test plays the part of the other
// controllers.
type world struct {
	*testing.T
	*WithT
	ctx       context.Context
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, WithT: NewWithT(t), ctx: t.Context()}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	w.Expect(api.Create(w.ctx, namespace)).To(Succeed())
	w.namespace = namespace.Name
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "demo"},
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				Pods:          clusterv1.NetworkRanges{CIDRBlocks: []string{"10.45.0.0/16"}},
				Services:      clusterv1.NetworkRanges{CIDRBlocks: []string{"10.46.0.0/16"}},
				ServiceDomain: "example.internal",
			},
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.1", Port: 6443},
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: controlplanev1.GroupVersion.Group, Kind: controlPlaneKind, Name: "demo",
			},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "TestCluster", Name: "demo",
			},
		},
	}
	w.Expect(api.Create(w.ctx, cluster)).To(Succeed())
	controlPlane := &controlplanev1.RKE2ControlPlane{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "demo", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
		},
		Spec: controlplanev1.RKE2ControlPlaneSpec{
			Version: "v1.36.3+rke2r1",
			ServerConfig: controlplanev1.RKE2ServerConfig{
				CloudProviderName: "",
				DisableComponents: controlplanev1.DisableComponents{
					KubernetesComponents: []controlplanev1.DisabledKubernetesComponent{controlplanev1.DisableCloudController},
				},
			},
		},
	}
	controlPlane.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "TestMachineTemplate", Name: "demo",
	}
	w.Expect(api.Create(w.ctx, controlPlane)).To(Succeed())
	return w
}

func (w *world) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.namespace, Name: name}
}

func (w *world) get(name string, obj client.Object) {
	w.Helper()
	w.Expect(api.Get(w.ctx, w.key(name), obj)).To(Succeed())
}

func (w *world) cluster() *clusterv1.Cluster {
	w.Helper()
	cluster := &clusterv1.Cluster{}
	w.get("demo", cluster)
	return cluster
}

func (w *world) controlPlane() *controlplanev1.RKE2ControlPlane {
	w.Helper()
	controlPlane := &controlplanev1.RKE2ControlPlane{}
	w.get("demo", controlPlane)
	return controlPlane
}

func (w *world) config(name string) *bootstrapv1.RKE2Config {
	w.Helper()
	config := &bootstrapv1.RKE2Config{}
	w.get(name, config)
	return config
}

func (w *world) machine(name string) *clusterv1.Machine {
	w.Helper()
	machine := &clusterv1.Machine{}
	w.get(name, machine)
	return machine
}

// patch changes an object. It sends only the change, because the reconciler may
// write the object at the same time.
func (w *world) patch(obj client.Object, change func()) {
	w.Helper()
	before := obj.DeepCopyObject().(client.Object)
	change()
	w.Expect(api.Patch(w.ctx, obj, client.MergeFrom(before))).To(Succeed())
}

// patchStatus is patch for the status.
func (w *world) patchStatus(obj client.Object, change func()) {
	w.Helper()
	before := obj.DeepCopyObject().(client.Object)
	change()
	w.Expect(api.Status().Patch(w.ctx, obj, client.MergeFrom(before))).To(Succeed())
}

func (w *world) updateCluster(change func(*clusterv1.Cluster)) {
	w.Helper()
	cluster := w.cluster()
	w.patch(cluster, func() { change(cluster) })
}

func (w *world) updateControlPlane(change func(*controlplanev1.RKE2ControlPlane)) {
	w.Helper()
	controlPlane := w.controlPlane()
	w.patch(controlPlane, func() { change(controlPlane) })
}

// provision reports the infrastructure of the cluster as provisioned.
func (w *world) provision() {
	w.Helper()
	cluster := w.cluster()
	w.patchStatus(cluster, func() { cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true) })
}

// initialize reports the control plane as initialized.
func (w *world) initialize() {
	w.Helper()
	cluster := w.cluster()
	w.patchStatus(cluster, func() { cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true) })
}

func (w *world) owner() metav1.OwnerReference {
	w.Helper()
	return *metav1.NewControllerRef(w.controlPlane(), controlplanev1.GroupVersion.WithKind(controlPlaneKind))
}

// secrets makes the Secrets of the cluster, as the control-plane controller does.
func (w *world) secrets() {
	w.Helper()
	for _, purpose := range secrets.Purposes(false) {
		_, err := secrets.EnsureCA(w.ctx, api, api, w.key("demo"), purpose, w.owner())
		w.Expect(err).NotTo(HaveOccurred())
	}
	_, err := secrets.EnsureToken(w.ctx, api, api, w.key("demo"), w.owner())
	w.Expect(err).NotTo(HaveOccurred())
	_, err = secrets.EnsureAgentToken(w.ctx, api, api, w.key("demo"), w.owner())
	w.Expect(err).NotTo(HaveOccurred())
}

func (w *world) server(name string, change func(*clusterv1.Machine)) {
	w.Helper()
	w.machineWith(name, true, change, nil)
}

func (w *world) worker(name string, change func(*clusterv1.Machine)) {
	w.Helper()
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.ServerConfig.CloudProviderName = "external" })
	w.machineWith(name, false, change, nil)
}

// machineWith makes a Machine with its config, owned as Cluster API leaves them.
func (w *world) machineWith(name string, server bool, change func(*clusterv1.Machine), changeConfig func(*bootstrapv1.RKE2Config)) {
	w.Helper()
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName: "demo", Version: "v1.36.3+rke2r1",
			Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: bootstrapv1.GroupVersion.Group, Kind: configKind, Name: name,
			}},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "TestMachine", Name: name,
			},
		},
	}
	if server {
		machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
		machine.OwnerReferences = []metav1.OwnerReference{w.owner()}
	}
	if change != nil {
		change(machine)
	}
	status := machine.Status
	w.Expect(api.Create(w.ctx, machine)).To(Succeed())
	if len(status.Addresses) > 0 {
		machine.Status = status
		w.Expect(api.Status().Update(w.ctx, machine)).To(Succeed())
	}
	config := &bootstrapv1.RKE2Config{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(machine, clusterv1.GroupVersion.WithKind("Machine")),
		},
	}}
	if changeConfig != nil {
		changeConfig(config)
	}
	w.Expect(api.Create(w.ctx, config)).To(Succeed())
}

func (w *world) eventually(check func(Gomega)) {
	w.Helper()
	w.Eventually(check).WithTimeout(patience).WithPolling(patience / 400).Should(Succeed())
}

// waits makes sure that the config says why there are no data.
func (w *world) waits(name, reason, message string) {
	w.Helper()
	w.eventually(func(g Gomega) {
		config := w.config(name)
		data := conditions.Get(config, bootstrapv1.DataSecretAvailableCondition)
		g.Expect(data).NotTo(BeNil())
		g.Expect(data.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(data.Message).To(ContainSubstring(message))
		g.Expect(data.Message).NotTo(ContainSubstring("hunter2"))
		g.Expect(data.Reason).To(Equal(reason))
		ready := conditions.Get(config, bootstrapv1.ReadyCondition)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(ready.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(ready.Message).To(Equal(data.Message))
		g.Expect(config.Status.Initialization.DataSecretCreated).To(BeNil())
	})
}

// hasData returns the bootstrap data once they exist.
func (w *world) hasData(name string) *corev1.Secret {
	w.Helper()
	w.eventually(func(g Gomega) {
		config := w.config(name)
		data := conditions.Get(config, bootstrapv1.DataSecretAvailableCondition)
		g.Expect(data).NotTo(BeNil())
		g.Expect(data.Status).To(Equal(metav1.ConditionTrue), data.Message)
		g.Expect(config.Status.Initialization.DataSecretCreated).To(HaveValue(BeTrue()))
		g.Expect(config.Status.DataSecretName).To(HaveValue(Equal(name)))
	})
	secret := &corev1.Secret{}
	w.get(name, secret)
	return secret
}
