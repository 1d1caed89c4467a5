package upkeep

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func applied(manager, tree string) client.Object {
	return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{"f:else":{}}}}`)}},
		{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{Raw: []byte(tree)}},
	}}}
}

func TestAppliedFields(t *testing.T) {
	obj := applied("us", `{"f:metadata":{"f:labels":{".":{},"f:a":{},"f:example.com/b":{}}},"f:spec":{"f:deletion":{"f:nodeDrainTimeoutSeconds":{}}}}`)
	owned := appliedBy(obj, "us")
	labels := owned.at("metadata", "labels")
	for name, test := range map[string]struct{ got, want any }{
		"unwanted":       {fmt.Sprint(unwanted(labels, map[string]string{"a": "1"})), "[example.com/b]"},
		"all wanted":     {len(unwanted(labels, map[string]string{"a": "", "example.com/b": ""})), 0},
		"deep":           {owned.owns("spec", "deletion", "nodeDrainTimeoutSeconds"), true},
		"not owned":      {owned.owns("spec", "deletion", "nodeDeletionTimeoutSeconds"), false},
		"nothing there":  {owned.owns("status", "a", "b"), false},
		"of others":      {len(appliedBy(obj, "them")), 0},
		"held":           {holds(map[string]string{"a": "1"}, map[string]string{"a": "1"}, labels), true},
		"another value":  {holds(map[string]string{"a": "2"}, map[string]string{"a": "1"}, labels), false},
		"held by others": {holds(map[string]string{"c": "1"}, map[string]string{"c": "1"}, labels), false},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
}

func TestElementsOfLists(t *testing.T) {
	gate := func(kinds ...string) (out []clusterv1.MachineReadinessGate) {
		for _, kind := range kinds {
			out = append(out, clusterv1.MachineReadinessGate{ConditionType: kind})
		}
		return out
	}
	owned := appliedBy(applied("us", `{"f:spec":{"f:readinessGates":{"k:{\"conditionType\":\"A\"}":{".":{},"f:conditionType":{}}}}}`), "us").at("spec", "readinessGates")
	for name, test := range map[string]struct {
		have, want []clusterv1.MachineReadinessGate
		owned      fields
		differ     bool
	}{
		"none":                        {},
		"as wanted":                   {gate("A"), gate("A"), owned, false},
		"one of somebody else beside": {gate("B", "A"), gate("A"), owned, false},
		"missing":                     {nil, gate("A"), nil, true},
		"one more":                    {gate("A"), gate("A", "B"), owned, true},
		"ours, not wanted any more":   {gate("A"), nil, owned, true},
		"somebody else's only":        {gate("B"), nil, nil, false},
		"another polarity":            {gate("A"), []clusterv1.MachineReadinessGate{{ConditionType: "A", Polarity: clusterv1.NegativePolarityCondition}}, owned, true},
	} {
		if got := elementsDiffer(test.have, test.want, test.owned, gateKey); got != test.differ {
			t.Errorf("%s: %v", name, got)
		}
	}
	taint := clusterv1.MachineTaint{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute, Propagation: clusterv1.MachineTaintPropagationAlways}
	taints := appliedBy(applied("us", `{"f:spec":{"f:taints":{"k:{\"effect\":\"NoExecute\",\"key\":\"k\"}":{".":{}}}}}`), "us").at("spec", "taints")
	if elementsDiffer([]clusterv1.MachineTaint{taint}, []clusterv1.MachineTaint{taint}, taints, taintKey) || !elementsDiffer([]clusterv1.MachineTaint{taint}, nil, taints, taintKey) {
		t.Error("a taint is not told by key and effect")
	}
}
