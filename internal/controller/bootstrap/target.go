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
	machineKind      = "Machine"
	poolKind         = "MachinePool"
)

// target is an RKE2Config with the objects that say what it is for.
type target struct {
	config *bootstrapv1.RKE2Config
	// machine is the Machine the data are for, or nil: then they are for all machines of pool.
	machine *clusterv1.Machine
	pool    *clusterv1.MachinePool
	cluster *clusterv1.Cluster
	// joined is the host that the data a pool has now join through; empty when that is not known.
	joined string
	// secretsFound is true once the Secrets of the cluster that the machine needs were found.
	secretsFound bool
	// dataOutlived is true for a server that joins nobody although its cluster is initialized: all its servers are gone,
	// and their data are in an external datastore.
	dataOutlived bool
	// boot is what is known of the machine once it has its data.
	boot *boot
}

// target looks up whose config it is; nil while there is no Machine, MachinePool or Cluster, which needs no condition:
// Cluster API sets the owner, and that is watched.
func (r *Reconciler) target(ctx context.Context, config *bootstrapv1.RKE2Config) (*target, error) {
	log := ctrl.LoggerFrom(ctx)
	t := &target{config: config, cluster: &clusterv1.Cluster{}}
	ref := ownerOf(config, clusterv1.GroupVersion.Group, machineKind)
	if ref != nil {
		t.machine = &clusterv1.Machine{}
	} else if ref = ownerOf(config, clusterv1.GroupVersion.Group, poolKind); ref != nil {
		t.pool = &clusterv1.MachinePool{}
	} else {
		log.V(4).Info("No Machine and no MachinePool owns this RKE2Config yet")
		return nil, nil
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: ref.Name}, t.owner())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s/%s: %w", ref.Kind, config.Namespace, ref.Name, err)
	}
	name := t.clusterName()
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: name}, t.cluster)
	if apierrors.IsNotFound(err) {
		log.V(4).Info("The Cluster does not exist yet", "Cluster", name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Cluster %s/%s: %w", config.Namespace, name, err)
	}
	return t, nil
}

// owner is what the data are for.
func (t *target) owner() client.Object {
	if t.pool != nil {
		return t.pool
	}
	return t.machine
}

// ownerName names the owner, for messages.
func (t *target) ownerName() string {
	if t.pool != nil {
		return poolKind + " " + t.pool.Name
	}
	return machineKind + " " + t.machine.Name
}

func (t *target) clusterName() string {
	if t.pool != nil {
		return t.pool.Spec.ClusterName
	}
	return t.machine.Spec.ClusterName
}

// machineSpec is that of the Machine, or of all machines of the pool.
func (t *target) machineSpec() *clusterv1.MachineSpec {
	if t.pool != nil {
		return &t.pool.Spec.Template.Spec
	}
	return &t.machine.Spec
}

// versionField is where the version stands, for messages.
func (t *target) versionField() string {
	if t.pool != nil {
		return "spec.template.spec.version"
	}
	return "spec.version"
}

func (t *target) clusterKey() client.ObjectKey {
	return client.ObjectKeyFromObject(t.cluster)
}

// isServer tells whether the Machine belongs to a control plane. A pool has workers only.
func (t *target) isServer() bool {
	if t.pool != nil {
		return false
	}
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
