package bootstrap

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

const (
	configKind       = "RKE2Config"
	controlPlaneKind = "RKE2ControlPlane"
)

// target is an RKE2Config with the objects that say what it is for.
type target struct {
	config  *bootstrapv1.RKE2Config
	machine *clusterv1.Machine
	cluster *clusterv1.Cluster
	// secretsFound is true once the Secrets of the cluster that the machine needs were found.
	secretsFound bool
	// boot is what is known of the machine once it has its data.
	boot *boot
}

// target looks up whose config it is; nil while there is no Machine or Cluster, which needs no condition: Cluster API
// sets the owner, and that is watched.
func (r *Reconciler) target(ctx context.Context, config *bootstrapv1.RKE2Config) (*target, error) {
	log := ctrl.LoggerFrom(ctx)
	ref := ownerOf(config, clusterv1.GroupVersion.Group, "Machine")
	if ref == nil {
		log.V(4).Info("No Machine owns this RKE2Config yet")
		return nil, nil
	}
	machine := &clusterv1.Machine{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: ref.Name}, machine)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Machine %s/%s: %w", config.Namespace, ref.Name, err)
	}
	cluster := &clusterv1.Cluster{}
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: machine.Spec.ClusterName}, cluster)
	if apierrors.IsNotFound(err) {
		log.V(4).Info("The Cluster does not exist yet", "Cluster", machine.Spec.ClusterName)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Cluster %s/%s: %w", config.Namespace, machine.Spec.ClusterName, err)
	}
	return &target{config: config, machine: machine, cluster: cluster}, nil
}

func (t *target) clusterKey() client.ObjectKey {
	return client.ObjectKeyFromObject(t.cluster)
}

// isServer tells whether the Machine belongs to a control plane.
func (t *target) isServer() bool {
	_, labelled := t.machine.Labels[clusterv1.MachineControlPlaneLabel]
	return labelled || ownerOf(t.machine, controlplanev1.GroupVersion.Group, controlPlaneKind) != nil
}

// ownerOf finds an owner by group and kind. The version an owner reference names is not looked at: references written
// through another version of the API mean the same object.
func ownerOf(obj metav1.Object, group, kind string) *metav1.OwnerReference {
	refs := obj.GetOwnerReferences()
	for i := range refs {
		gv, err := schema.ParseGroupVersion(refs[i].APIVersion)
		if err == nil && gv.Group == group && refs[i].Kind == kind {
			return &refs[i]
		}
	}
	return nil
}

// initialized tells whether the first server of the cluster has come up.
func initialized(cluster *clusterv1.Cluster) bool {
	return ptr.Deref(cluster.Status.Initialization.ControlPlaneInitialized, false) ||
		conditions.IsTrue(cluster, clusterv1.ClusterControlPlaneInitializedCondition)
}

// controlPlane reads the control plane of the cluster: for a server the owner of its Machine, for a worker the one the
// Cluster names. It is read live: settings that all servers have to agree on depend on an annotation that was written
// just before the first Machine.
func (r *Reconciler) controlPlane(ctx context.Context, t *target) (*controlplanev1.RKE2ControlPlane, error) {
	name, err := t.controlPlaneName()
	if err != nil {
		return nil, err
	}
	controlPlane := &controlplanev1.RKE2ControlPlane{}
	err = r.APIReader.Get(ctx, client.ObjectKey{Namespace: t.config.Namespace, Name: name}, controlPlane)
	if apierrors.IsNotFound(err) {
		return nil, waitFor(bootstrapv1.DataSecretNotAvailableReason, "waiting for RKE2ControlPlane %s to exist", name)
	}
	if err != nil {
		return nil, fmt.Errorf("get RKE2ControlPlane %s/%s: %w", t.config.Namespace, name, err)
	}
	return controlPlane, nil
}

func (t *target) controlPlaneName() (string, error) {
	if t.isServer() {
		ref := ownerOf(t.machine, controlplanev1.GroupVersion.Group, controlPlaneKind)
		if ref == nil {
			return "", waitFor(bootstrapv1.DataSecretNotAvailableReason,
				"Machine %s has the label %s but no RKE2ControlPlane owns it: make servers through an RKE2ControlPlane",
				t.machine.Name, clusterv1.MachineControlPlaneLabel)
		}
		return ref.Name, nil
	}
	ref := t.cluster.Spec.ControlPlaneRef
	switch {
	case !ref.IsDefined():
		return "", waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"Cluster %s names no control plane: set spec.controlPlaneRef to an RKE2ControlPlane", t.cluster.Name)
	case ref.Kind != controlPlaneKind || ref.APIGroup != controlplanev1.GroupVersion.Group:
		return "", waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"the control plane of Cluster %s is a %s of %s; an RKE2Config can join an RKE2ControlPlane only",
			t.cluster.Name, ref.Kind, ref.APIGroup)
	}
	return ref.Name, nil
}
