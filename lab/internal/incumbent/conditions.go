package incumbent

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/patch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// state is a condition as it says that all is well.
type state struct {
	kind   string
	status metav1.ConditionStatus
	reason string
}

// The conditions of objects at rest.
var (
	planeStates = []state{
		{"Available", metav1.ConditionTrue, "Available"},
		{"Initialized", metav1.ConditionTrue, "Initialized"},
		{"CertificatesAvailable", metav1.ConditionTrue, "Available"},
		{"EtcdClusterHealthy", metav1.ConditionTrue, "Healthy"},
		{"ControlPlaneComponentsHealthy", metav1.ConditionTrue, "Healthy"},
		{"MachinesReady", metav1.ConditionTrue, "Ready"},
		{"MachinesUpToDate", metav1.ConditionTrue, "UpToDate"},
		{"RollingOut", metav1.ConditionFalse, "NotRollingOut"},
		{"ScalingUp", metav1.ConditionFalse, "NotScalingUp"},
		{"ScalingDown", metav1.ConditionFalse, "NotScalingDown"},
		{"Remediating", metav1.ConditionFalse, "NotRemediating"},
		{"Deleting", metav1.ConditionFalse, "NotDeleting"},
	}
	configStates = []state{
		{"Ready", metav1.ConditionTrue, "Ready"},
		{"DataSecretAvailable", metav1.ConditionTrue, "Available"},
		{"CertificatesAvailable", metav1.ConditionTrue, "Available"},
	}
	machineStates = []state{
		{"AgentHealthy", metav1.ConditionTrue, "Healthy"},
		{"EtcdMemberHealthy", metav1.ConditionTrue, "Healthy"},
		{"NodeMetadataUpToDate", metav1.ConditionTrue, "UpToDate"},
		{clusterv1.MachineUpToDateCondition, metav1.ConditionTrue, clusterv1.MachineUpToDateReason},
	}
)

// asFields are states as conditions of an unstructured object.
func asFields(states []state, generation int64) []any {
	var out []any
	for _, s := range states {
		out = append(out, map[string]any{
			"type": s.kind, "status": string(s.status), "reason": s.reason, "message": "",
			"observedGeneration": generation, "lastTransitionTime": metav1.Now().UTC().Format("2006-01-02T15:04:05Z"),
		})
	}
	return out
}

// publishConfig says in a config's status that its bootstrap data are there.
func (b *builder) publishConfig(ctx context.Context, config *unstructured.Unstructured) error {
	return b.publish(ctx, config, map[string]any{
		"dataSecretName": config.GetName(), "initialization": map[string]any{"dataSecretCreated": true},
		"observedGeneration": config.GetGeneration(), "conditions": asFields(configStates, config.GetGeneration()),
	})
}

// publishPlane writes the control plane's status for that many servers, all of them well.
func (b *builder) publishPlane(ctx context.Context, servers int) error {
	release, _, err := unstructured.NestedString(b.plane.Object, "spec", "version")
	if err != nil {
		return fmt.Errorf("read spec.version: %w", err)
	}
	n := int64(servers)
	return b.publish(ctx, b.plane, map[string]any{
		"initialization": map[string]any{"controlPlaneInitialized": true}, "version": release,
		"replicas": n, "readyReplicas": n, "availableReplicas": n, "upToDateReplicas": n,
		"availableServerIPs": []any{b.cluster.Spec.ControlPlaneEndpoint.Host},
		"observedGeneration": b.plane.GetGeneration(), "conditions": asFields(planeStates, b.plane.GetGeneration()),
	})
}

func (b *builder) publish(ctx context.Context, o *unstructured.Unstructured, status map[string]any) error {
	before := o.DeepCopy()
	o.Object["status"] = runtime.DeepCopyJSON(status)
	if err := b.Client.Status().Patch(ctx, o, client.MergeFrom(before), client.FieldOwner(plainManager)); err != nil {
		return fmt.Errorf("write the status of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// publishMachine writes the control plane's own conditions of a Machine beside those of Cluster API's core.
func (b *builder) publishMachine(ctx context.Context, machine *clusterv1.Machine) error {
	helper, err := patch.NewHelper(machine, b.Client)
	if err != nil {
		return fmt.Errorf("write the conditions of Machine %s: %w", machine.Name, err)
	}
	var owned []string
	for _, s := range machineStates {
		conditions.Set(machine, metav1.Condition{Type: s.kind, Status: s.status, Reason: s.reason})
		owned = append(owned, s.kind)
	}
	if err := helper.Patch(ctx, machine, patch.WithOwnedConditions{Conditions: owned}); err != nil {
		return fmt.Errorf("write the conditions of Machine %s: %w", machine.Name, err)
	}
	return nil
}
