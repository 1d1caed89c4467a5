package controlplane

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/report"
	"github.com/drover-project/drover/internal/world/secrets"
)

// onUpdate makes a predicate of a comparison. Creations and deletions pass,
// and so do resyncs: they are the net below all watches.
func onUpdate[T client.Object](changed func(before, after T) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, okAfter := e.ObjectNew.(T)
		if !ok || !okAfter {
			return false
		}
		return before.GetResourceVersion() == after.GetResourceVersion() || changed(before, after)
	}}
}

// controlPlaneChanged leaves out changes of the status, which are our own.
func controlPlaneChanged() predicate.Predicate {
	return onUpdate(func(before, after *controlplanev1.RKE2ControlPlane) bool {
		return before.Generation != after.Generation || metadataChanged(before, after)
	})
}

func metadataChanged(before, after client.Object) bool {
	return !equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero()
}

// machineChanged leaves out changes of the conditions that we set.
func machineChanged() predicate.Predicate {
	owned := report.OwnedMachineConditions()
	theirs := func(m *clusterv1.Machine) clusterv1.MachineStatus {
		status := m.Status
		status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c metav1.Condition) bool {
			return slices.Contains(owned, c.Type)
		})
		return status
	}
	return onUpdate(func(before, after *clusterv1.Machine) bool {
		return before.Generation != after.Generation || metadataChanged(before, after) ||
			!equality.Semantic.DeepEqual(theirs(before), theirs(after))
	})
}

// workerGone lets the end of workers pass: the deletion of a control plane
// waits for it.
func workerGone() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc: func(e event.DeleteEvent) bool {
			_, server := e.Object.GetLabels()[clusterv1.MachineControlPlaneLabel]
			return !server
		},
	}
}

func clusterChanged() predicate.Predicate {
	return onUpdate(func(before, after *clusterv1.Cluster) bool {
		return ptr.Deref(before.Spec.Paused, false) != ptr.Deref(after.Spec.Paused, false) ||
			before.Spec.ControlPlaneEndpoint != after.Spec.ControlPlaneEndpoint ||
			before.Spec.ControlPlaneRef != after.Spec.ControlPlaneRef ||
			before.Spec.Topology.Version != after.Spec.Topology.Version ||
			before.Annotations[clusterv1.ClusterTopologyUpgradeStepAnnotation] != after.Annotations[clusterv1.ClusterTopologyUpgradeStepAnnotation] ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			ptr.Deref(before.Status.Initialization.InfrastructureProvisioned, false) !=
				ptr.Deref(after.Status.Initialization.InfrastructureProvisioned, false) ||
			!equality.Semantic.DeepEqual(before.Status.FailureDomains, after.Status.FailureDomains)
	})
}

// secretOfCluster lets the Secrets pass that a control plane rests on.
func secretOfCluster() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(obj client.Object) bool {
		cluster := obj.GetLabels()[clusterv1.ClusterNameLabel]
		names := secrets.Names(cluster)
		return cluster != "" && slices.Contains([]string{
			names.ServerCA, names.ClientCA, names.EtcdCA, names.EtcdPeerCA,
			names.Token, names.AgentToken, names.Kubeconfig,
		}, obj.GetName())
	})
}
