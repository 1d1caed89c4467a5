package scope

import (
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// InitializedOnRecord tells whether the objects of the management cluster say
// that the first server has come up: the status, the annotation that outlives
// it, the Cluster, or where the control plane comes from.
func (s *Scope) InitializedOnRecord() bool {
	cluster := s.Cluster.Status.Initialization.ControlPlaneInitialized
	return Initialized(s.ControlPlane) || ptr.Deref(cluster, false) ||
		conditions.IsTrue(s.Cluster, clusterv1.ClusterControlPlaneInitializedCondition) || s.movedHere()
}

// Initialized tells whether a control plane says that its first server has
// come up.
func Initialized(cp *controlplanev1.RKE2ControlPlane) bool {
	_, recorded := cp.Annotations[controlplanev1.InitializedAnnotation]
	return recorded || ptr.Deref(cp.Status.Initialization.ControlPlaneInitialized, false)
}

// movedHere tells a control plane with servers that was moved here before
// Drover ever saw it: nothing has looked at it in this management cluster, and
// its first server is not ours. clusterctl moves no cluster that has not come
// up.
func (s *Scope) movedHere() bool {
	cp := s.ControlPlane
	_, ours := cp.Annotations[controlplanev1.FirstServerByAnnotation]
	return !ours && len(s.Machines) > 0 && cp.Status.ObservedGeneration == 0 &&
		!conditions.Has(cp, controlplanev1.InitializedCondition)
}
