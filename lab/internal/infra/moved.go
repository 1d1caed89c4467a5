package infra

import (
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// movedAway tells whether an object is deleted only because clusterctl has moved
// it to another management cluster: what it stands for lives on. Its Cluster is
// paused then, but the caches of the kinds are not of the same moment: the
// Cluster may be gone already for who still sees its LabMachine. The object
// itself always says it, since clusterctl writes that before it deletes.
func movedAway(object client.Object) bool {
	_, marked := object.GetAnnotations()[clusterctlv1.DeleteForMoveAnnotation]
	return marked && !object.GetDeletionTimestamp().IsZero()
}
