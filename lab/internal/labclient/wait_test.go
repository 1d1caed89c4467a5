package labclient

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
)

func TestMissing(t *testing.T) {
	condition := func(status metav1.ConditionStatus, message string, generation int64) *metav1.Condition {
		return &metav1.Condition{
			Type: clusterv1.AvailableCondition, Status: status, Reason: "R", Message: message, ObservedGeneration: generation,
		}
	}
	servers := func(desired, replicas, available, upToDate int32) *clusterv1.ClusterControlPlaneStatus {
		return &clusterv1.ClusterControlPlaneStatus{
			DesiredReplicas: &desired, Replicas: &replicas, AvailableReplicas: &available, UpToDateReplicas: &upToDate,
		}
	}
	for name, test := range map[string]struct {
		condition *metav1.Condition
		servers   *clusterv1.ClusterControlPlaneStatus
		workers   *clusterv1.WorkersStatus
		want      string
	}{
		"new":     {nil, nil, nil, "Cluster API has not looked at it yet"},
		"changed": {condition(metav1.ConditionTrue, "", 1), nil, nil, "Cluster API has not looked at it yet"},
		"not available": {
			condition(metav1.ConditionFalse, "* A: x\n* WorkersAvailable:\n  * MachineDeployment w: y", 2), nil, nil,
			"A: x; WorkersAvailable: MachineDeployment w: y",
		},
		"rolling": {
			condition(metav1.ConditionTrue, "", 2), servers(3, 4, 3, 1), nil,
			"servers: 3 wanted, 4 exist, 3 available, 1 up to date",
		},
		"workers missing": {
			condition(metav1.ConditionTrue, "", 2), servers(1, 1, 1, 1), &clusterv1.WorkersStatus{DesiredReplicas: ptr.To[int32](1)},
			"workers: 1 wanted, 0 exist, 0 available, 0 up to date",
		},
		"complete": {condition(metav1.ConditionTrue, "", 2), servers(3, 3, 3, 3), &clusterv1.WorkersStatus{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
			cluster.Status.ControlPlane, cluster.Status.Workers = test.servers, test.workers
			if test.condition != nil {
				// Set would note the current generation.
				conditions.Set(cluster, *test.condition)
				cluster.Status.Conditions[0].ObservedGeneration = test.condition.ObservedGeneration
			}
			if got := missing(cluster); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
