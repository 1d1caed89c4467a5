package takeover_test

import (
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// The field manager of Cluster API's core, whose writes are ordinary updates.
const coreManager = client.FieldOwner("manager")

// incumbent is a cluster as the former provider leaves it.
type incumbent struct {
	*world
	release release
	// ownerVersion is the version of the API group that owner references to
	// its kinds carry.
	ownerVersion string
	controlPlane *controlplanev1.RKE2ControlPlane
}

// newIncumbent puts a running cluster of three servers into a namespace. The
// Cluster is paused until adopt: nothing happens before all is there.
func newIncumbent(w *world, r release, ownerVersion string) *incumbent {
	w.Helper()
	in := &incumbent{world: w, release: r, ownerVersion: ownerVersion}
	w.cluster(ptr.To(true))
	w.put(template(w.namespace, w.clusterRef(nil)))
	in.putControlPlane()
	var first *bootstrapv1.RKE2Config
	for i := range 3 {
		if config := in.putServer(i); i == 0 {
			first = config
		}
	}
	in.putSecrets(first)
	w.put(&corev1.ConfigMap{
		ObjectMeta: w.meta("demo-lock", map[string]string{clusterv1.ClusterNameLabel: "demo"}, w.clusterRef(nil)),
		Data:       map[string]string{"lock-information": `{"machineName":"demo-cp-m0abc"}`},
	})
	return in
}

// adopt lets the reconcilers at it.
func (in *incumbent) adopt() {
	in.Helper()
	in.pause(nil)
}

// provider is a reference to a kind of the provider in the version the release
// wrote.
func (in *incumbent) provider(group, kind string, obj client.Object, controller *bool) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: group + "/" + in.ownerVersion, Kind: kind, Name: obj.GetName(), UID: obj.GetUID(),
		Controller: controller, BlockOwnerDeletion: controller,
	}
}

func (in *incumbent) putControlPlane() {
	in.Helper()
	cp := &controlplanev1.RKE2ControlPlane{
		ObjectMeta: in.meta("demo-cp", map[string]string{clusterv1.ClusterNameLabel: "demo"}, in.clusterRef(ptr.To(true))),
		Spec:       commonSpec(),
	}
	cp.Finalizers, cp.Annotations = in.release.finalizers, in.release.annotations
	if in.release.spec != nil {
		in.release.spec(&cp.Spec)
	}
	since := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	for kind, reason := range map[string]string{
		"Available": "Available", "Initialized": "Initialized", "CertificatesAvailable": "Available", "EtcdClusterHealthy": "Healthy",
		"ControlPlaneComponentsHealthy": "Healthy", "MachinesReady": "Ready", "MachinesUpToDate": "UpToDate",
	} {
		cp.Status.Conditions = append(cp.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: since})
	}
	cp.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	cp.Status.ObservedGeneration = 1
	cp.Status.Replicas, cp.Status.ReadyReplicas, cp.Status.UpToDateReplicas = ptr.To[int32](3), ptr.To[int32](3), ptr.To[int32](3)
	cp.Status.Version = cp.Spec.Version
	cp.Status.AvailableServerIPs = []string{"10.0.0.10"}
	in.put(cp)
	in.controlPlane = cp
}

// labels are those of everything that belongs to a server.
func (in *incumbent) labels() map[string]string {
	out := map[string]string{
		clusterv1.ClusterNameLabel: "demo", clusterv1.MachineControlPlaneLabel: "",
		clusterv1.MachineControlPlaneNameLabel: format.MustFormatValue(in.controlPlane.Name),
	}
	for key, value := range in.controlPlane.Spec.MachineTemplate.ObjectMeta.Labels {
		out[key] = value
	}
	return out
}

// putServer makes a server whose three objects have three random names.
func (in *incumbent) putServer(i int) *bootstrapv1.RKE2Config {
	in.Helper()
	machine, infra, config := fmt.Sprintf("demo-cp-m%dabc", i), fmt.Sprintf("demo-cp-i%dxyz", i), fmt.Sprintf("demo-cp-c%djkl", i)
	m := in.putMachine(machine, infra, config, i)
	owners := []metav1.OwnerReference{
		in.provider(controlplanev1.GroupVersion.Group, "RKE2ControlPlane", in.controlPlane, nil),
		*metav1.NewControllerRef(m, clusterv1.GroupVersion.WithKind("Machine")),
	}
	annotations := in.controlPlane.Spec.MachineTemplate.ObjectMeta.Annotations
	clone := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": "small", "providerID": m.Spec.ProviderID}}}
	clone.SetAPIVersion(infraGroup + "/v1")
	clone.SetKind("TestMachine")
	in.describe(clone, infra, owners, annotations)
	clone.SetAnnotations(merge(annotations, map[string]string{
		clusterv1.TemplateClonedFromNameAnnotation: "small", clusterv1.TemplateClonedFromGroupKindAnnotation: "TestMachineTemplate." + infraGroup,
	}))
	in.put(clone)
	c := &bootstrapv1.RKE2Config{Spec: *in.controlPlane.Spec.RKE2ConfigSpec.DeepCopy()}
	in.describe(c, config, owners, annotations)
	if in.release.config != nil {
		in.release.config(c)
	}
	c.Status.DataSecretName = ptr.To(config)
	c.Status.Initialization.DataSecretCreated = ptr.To(true)
	in.put(c)
	in.put(&corev1.Secret{
		ObjectMeta: in.meta(config, map[string]string{clusterv1.ClusterNameLabel: "demo"},
			in.provider(bootstrapv1.GroupVersion.Group, "RKE2Config", c, ptr.To(true))),
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{"value": []byte("## template: jinja\n#cloud-config\n"), "format": []byte("cloud-config")},
	})
	if in.release.metadataApplied {
		in.applyMetadata(clone, "TestMachine", infraGroup+"/v1", annotations)
		in.applyMetadata(c, "RKE2Config", bootstrapv1.GroupVersion.Group+"/v1beta2", annotations)
	}
	return c
}

func (in *incumbent) describe(obj client.Object, name string, owners []metav1.OwnerReference, annotations map[string]string) {
	obj.SetNamespace(in.namespace)
	obj.SetName(name)
	obj.SetLabels(in.labels())
	obj.SetAnnotations(merge(annotations, nil))
	obj.SetOwnerReferences(owners)
}

func (in *incumbent) applyMetadata(obj client.Object, kind, apiVersion string, annotations map[string]string) {
	in.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetNamespace(obj.GetNamespace())
	u.SetName(obj.GetName())
	u.SetLabels(in.labels())
	u.SetAnnotations(annotations)
	in.apply(u, "rke2controlplane-metadata")
}

// putMachine applies the Machine as the former provider did; what core adds
// comes by updates.
func (in *incumbent) putMachine(name, infra, config string, i int) *clusterv1.Machine {
	in.Helper()
	annotations := merge(in.controlPlane.Spec.MachineTemplate.ObjectMeta.Annotations, map[string]string{
		controlplanev1.PreTerminateHookCleanupAnnotation: "",
	})
	if in.release.recorded != nil {
		annotations[controlplanev1.ServerConfigurationAnnotation] = in.release.recorded(in.controlPlane)
	}
	d := in.controlPlane.Spec.MachineTemplate.Spec.Deletion
	applied := &clusterv1.Machine{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: in.meta(name, in.labels(), in.provider(controlplanev1.GroupVersion.Group, "RKE2ControlPlane", in.controlPlane, ptr.To(true))),
		Spec: clusterv1.MachineSpec{
			ClusterName: "demo", Version: in.controlPlane.Spec.Version,
			Bootstrap:         clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: bootstrapv1.GroupVersion.Group, Kind: "RKE2Config", Name: config}},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infraGroup, Kind: "TestMachine", Name: infra},
			Deletion: clusterv1.MachineDeletionSpec{
				NodeDrainTimeoutSeconds: d.NodeDrainTimeoutSeconds, NodeVolumeDetachTimeoutSeconds: d.NodeVolumeDetachTimeoutSeconds,
				NodeDeletionTimeoutSeconds: d.NodeDeletionTimeoutSeconds,
			},
		},
	}
	applied.Annotations = annotations
	in.apply(fieldsOf(in.T, applied), controlplanev1.FieldManager)
	m := &clusterv1.Machine{}
	in.get(name, m)
	before := m.DeepCopy()
	m.Finalizers = []string{clusterv1.MachineFinalizer}
	m.Spec.Bootstrap.DataSecretName = ptr.To(config)
	m.Spec.ProviderID = "test://" + in.namespace + "/" + infra
	in.Expect(api.Patch(in.ctx, m, client.MergeFrom(before), coreManager)).To(Succeed())
	in.Expect(api.Status().Patch(in.ctx, withStatus(m, i), client.MergeFrom(before), coreManager)).To(Succeed())
	return m
}

// withStatus is what core, and the former provider, reported of a server.
func withStatus(m *clusterv1.Machine, i int) *clusterv1.Machine {
	m.Status.NodeRef.Name = fmt.Sprintf("node-%d", i)
	m.Status.Initialization.InfrastructureProvisioned, m.Status.Initialization.BootstrapDataSecretCreated = ptr.To(true), ptr.To(true)
	m.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: fmt.Sprintf("10.0.0.1%d", i)}}
	m.Status.Phase = string(clusterv1.MachinePhaseRunning)
	now := metav1.Now()
	for kind, reason := range map[string]string{"Ready": "Ready", "Available": "Available", "UpToDate": "UpToDate", "AgentHealthy": "Healthy", "EtcdMemberHealthy": "Healthy", "NodeMetadataUpToDate": "UpToDate"} {
		conditions.Set(m, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: now})
	}
	return m
}

func mustRecord(cp *controlplanev1.RKE2ControlPlane) string {
	b, err := json.Marshal(cp.Spec.ServerConfig)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func merge(a, b map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range []map[string]string{a, b} {
		for key, value := range m {
			out[key] = value
		}
	}
	return out
}
