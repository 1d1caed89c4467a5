package incumbent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage/names"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// configFields are the parts of a control plane's spec that each of its configs has, too.
var configFields = []string{"files", "preRKE2Commands", "postRKE2Commands", "privateRegistriesConfig", "gzipUserData", "agentConfig"}

// machineSet are the three objects of a server. Each has a random name of its own.
type machineSet struct {
	infrastructure, config *unstructured.Unstructured
	machine                *clusterv1.Machine
}

// newServer makes the objects of a server, which name their owner in the given version of its group.
func (b *builder) newServer(template *unstructured.Unstructured, ownerVersion string) (machineSet, error) {
	var made machineSet
	owner := b.ownedByPlane(ownerVersion)
	infrastructure, err := external.GenerateTemplate(&external.GenerateTemplateInput{
		Template: template, TemplateRef: &corev1.ObjectReference{
			APIVersion: template.GetAPIVersion(), Kind: template.GetKind(), Namespace: template.GetNamespace(), Name: template.GetName(),
		},
		Namespace: b.Cluster.Namespace, ClusterName: b.Cluster.Name, OwnerRef: &owner, Labels: b.labels(),
	})
	if err != nil {
		return made, fmt.Errorf("clone %s %s: %w", template.GetKind(), template.GetName(), err)
	}
	made.infrastructure = infrastructure
	made.config = b.newConfig(owner)
	made.machine, err = b.newMachine(made, ownerVersion)
	return made, err
}

func (b *builder) newConfig(owner metav1.OwnerReference) *unstructured.Unstructured {
	config := &unstructured.Unstructured{Object: map[string]any{}}
	config.SetGroupVersionKind(configKind)
	config.SetNamespace(b.Cluster.Namespace)
	config.SetName(randomName(b.plane.GetName()))
	config.SetLabels(b.labels())
	config.SetOwnerReferences([]metav1.OwnerReference{owner})
	spec := map[string]any{}
	for _, field := range configFields {
		if value, found, err := unstructured.NestedFieldCopy(b.plane.Object, "spec", field); err == nil && found {
			spec[field] = value
		}
	}
	config.Object["spec"] = spec
	return config
}

func (b *builder) newMachine(of machineSet, ownerVersion string) (*clusterv1.Machine, error) {
	recorded, err := recordedConfiguration(b.plane)
	if err != nil {
		return nil, err
	}
	deletion := clusterv1.MachineDeletionSpec{}
	limits, _, err := unstructured.NestedMap(b.plane.Object, "spec", "machineTemplate", "spec", "deletion")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(limits, &deletion)
	}
	if err != nil {
		return nil, fmt.Errorf("read spec.machineTemplate.spec.deletion: %w", err)
	}
	release, _, err := unstructured.NestedString(b.plane.Object, "spec", "version")
	if err != nil {
		return nil, fmt.Errorf("read spec.version: %w", err)
	}
	return &clusterv1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Cluster.Namespace, Name: randomName(b.plane.GetName()), Labels: b.labels(),
			Annotations:     map[string]string{serverConfiguration: recorded, cleanupHook: ""},
			OwnerReferences: []metav1.OwnerReference{b.controlledByPlane(ownerVersion)},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName: b.Cluster.Name, Version: release, Deletion: deletion,
			Bootstrap:         clusterv1.Bootstrap{ConfigRef: refTo(of.config)},
			InfrastructureRef: refTo(of.infrastructure),
		},
	}, nil
}

func refTo(o *unstructured.Unstructured) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: o.GroupVersionKind().Group, Kind: o.GetKind(), Name: o.GetName()}
}

// labels are those of a server's objects.
func (b *builder) labels() map[string]string {
	return map[string]string{
		clusterv1.ClusterNameLabel:             b.Cluster.Name,
		clusterv1.MachineControlPlaneLabel:     "",
		clusterv1.MachineControlPlaneNameLabel: format.MustFormatValue(b.plane.GetName()),
	}
}

func randomName(prefix string) string { return names.SimpleNameGenerator.GenerateName(prefix + "-") }

// ownedByPlane is a reference to the control plane without control.
func (b *builder) ownedByPlane(version string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: controlPlaneGroup + "/" + version, Kind: controlPlaneKind.Kind, Name: b.plane.GetName(), UID: b.plane.GetUID(),
	}
}

func (b *builder) controlledByPlane(version string) metav1.OwnerReference {
	ref := metav1.NewControllerRef(b.plane, controlPlaneKind)
	ref.APIVersion = controlPlaneGroup + "/" + version
	return *ref
}

func (b *builder) controlledByCluster() metav1.OwnerReference {
	return *metav1.NewControllerRef(b.cluster, clusterv1.GroupVersion.WithKind("Cluster"))
}

// saveServer stores the objects of a server: the Machine last, by server-side apply, and the labels of the others once
// more by server-side apply, as each look at a server does.
func (b *builder) saveServer(ctx context.Context, s machineSet) error {
	for _, o := range []client.Object{s.infrastructure, s.config} {
		if err := b.create(ctx, o); err != nil {
			return err
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.machine)
	if err != nil {
		return fmt.Errorf("create Machine %s: %w", s.machine.Name, err)
	}
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	if err := b.apply(ctx, &unstructured.Unstructured{Object: content}, machineManager); err != nil {
		return err
	}
	for _, o := range []*unstructured.Unstructured{s.infrastructure, s.config} {
		metadata := &unstructured.Unstructured{}
		metadata.SetGroupVersionKind(o.GroupVersionKind())
		metadata.SetNamespace(o.GetNamespace())
		metadata.SetName(o.GetName())
		metadata.SetLabels(b.labels())
		if err := b.apply(ctx, metadata, metadataManager); err != nil {
			return err
		}
	}
	return nil
}
