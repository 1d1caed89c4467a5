package upkeep

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
)

// machines brings labels, annotations, time limits, readiness gates and taints of
// the template to the Machines that stay, and makes sure that they belong to the control plane.
func (u *Upkeep) machines(ctx context.Context, s *scope.Scope) error {
	return each(s.Names(), "Machine", func(name string) error {
		m := s.Machines[name]
		if !m.DeletionTimestamp.IsZero() {
			return nil
		}
		m, err := u.ownMachine(ctx, s, m)
		if err != nil {
			return err
		}
		want := desired.UpdatedMachine(s.ControlPlane, s.Cluster, m)
		if !machineDiffers(m, want) {
			return nil
		}
		return u.applyMachine(ctx, m, want)
	})
}

// ownMachine puts the owner reference in order, in place: an apply would add a
// second one beside a reference with another identity, and the API server
// refuses two controllers. It returns the Machine as it is afterwards.
func (u *Upkeep) ownMachine(ctx context.Context, s *scope.Scope, m *clusterv1.Machine) (*clusterv1.Machine, error) {
	refs := withController(m.OwnerReferences, desired.Controller(s.ControlPlane))
	if equality.Semantic.DeepEqual(refs, m.OwnerReferences) {
		return m, nil
	}
	updated := m.DeepCopy()
	updated.OwnerReferences = refs
	patch := client.MergeFromWithOptions(m, client.MergeFromWithOptimisticLock{})
	if err := u.Client.Patch(ctx, updated, patch, client.FieldOwner(controlplanev1.FieldManager)); err != nil {
		return nil, fmt.Errorf("set the owner: %w", err)
	}
	return updated, nil
}

func machineDiffers(m, want *clusterv1.Machine) bool {
	owned := appliedBy(m, controlplanev1.FieldManager)
	labels, annotations := owned.at("metadata", "labels"), owned.at("metadata", "annotations")
	return !includes(m.Labels, want.Labels) || len(unwanted(labels, want.Labels)) > 0 ||
		!includes(m.Annotations, want.Annotations) || len(unwanted(annotations, want.Annotations)) > 0 ||
		limitsDiffer(m.Spec.Deletion, want.Spec.Deletion, owned.at("spec", "deletion")) ||
		elementsDiffer(m.Spec.ReadinessGates, want.Spec.ReadinessGates, owned.at("spec", "readinessGates"), gateKey) ||
		elementsDiffer(m.Spec.Taints, want.Spec.Taints, owned.at("spec", "taints"), taintKey)
}

// gateKey and taintKey are what the API server tells elements of the two lists
// apart by.
func gateKey(gate clusterv1.MachineReadinessGate) map[string]string {
	return map[string]string{"conditionType": gate.ConditionType}
}

func taintKey(taint clusterv1.MachineTaint) map[string]string {
	return map[string]string{"key": taint.Key, "effect": string(taint.Effect)}
}

// limitsDiffer leaves alone what is not wanted and was set by somebody else,
// such as the default of Cluster API's webhook.
func limitsDiffer(have, want clusterv1.MachineDeletionSpec, owned fields) bool {
	differs := func(have, want *int32, name string) bool {
		if want == nil {
			return owned.owns(name)
		}
		return !ptr.Equal(have, want)
	}
	return differs(have.NodeDrainTimeoutSeconds, want.NodeDrainTimeoutSeconds, "nodeDrainTimeoutSeconds") ||
		differs(have.NodeVolumeDetachTimeoutSeconds, want.NodeVolumeDetachTimeoutSeconds, "nodeVolumeDetachTimeoutSeconds") ||
		differs(have.NodeDeletionTimeoutSeconds, want.NodeDeletionTimeoutSeconds, "nodeDeletionTimeoutSeconds")
}

// applyMachine applies the whole of what the control plane says about the
// Machine. It fails on a Machine that changed since it was read: between the
// two it may have been released to go, and must not get its hooks back.
func (u *Upkeep) applyMachine(ctx context.Context, m, want *clusterv1.Machine) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return fmt.Errorf("write as fields: %w", err)
	}
	delete(content, "status")
	obj := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(obj.Object, "metadata", "creationTimestamp")
	obj.SetResourceVersion(m.ResourceVersion)
	return u.apply(ctx, obj, controlplanev1.FieldManager)
}

func (u *Upkeep) apply(ctx context.Context, obj *unstructured.Unstructured, manager string) error {
	err := u.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(manager), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return nil
}

// timeLimits brings the time limits of the template to the Machines that are
// being deleted. It is how a user helps a stuck deletion along.
func (u *Upkeep) timeLimits(ctx context.Context, s *scope.Scope) error {
	want := desired.Deletion(s.ControlPlane)
	return each(s.Names(), "Machine", func(name string) error {
		m := s.Machines[name]
		if m.DeletionTimestamp.IsZero() {
			return nil
		}
		updated := m.DeepCopy()
		updated.Spec.Deletion = withLimits(m.Spec.Deletion, want, appliedBy(m, controlplanev1.FieldManager).at("spec", "deletion"))
		if updated.Spec.Deletion == m.Spec.Deletion {
			return nil
		}
		if err := u.Client.Patch(ctx, updated, client.MergeFrom(m), client.FieldOwner(controlplanev1.FieldManager)); err != nil {
			return fmt.Errorf("set the time limits: %w", err)
		}
		return nil
	})
}

// withLimits keeps the pointers of values that do not change, so that the
// result can be compared with ==.
func withLimits(have, want clusterv1.MachineDeletionSpec, owned fields) clusterv1.MachineDeletionSpec {
	choose := func(have, want *int32, name string) *int32 {
		if ptr.Equal(have, want) || (want == nil && !owned.owns(name)) {
			return have
		}
		return want
	}
	return clusterv1.MachineDeletionSpec{
		NodeDrainTimeoutSeconds:        choose(have.NodeDrainTimeoutSeconds, want.NodeDrainTimeoutSeconds, "nodeDrainTimeoutSeconds"),
		NodeVolumeDetachTimeoutSeconds: choose(have.NodeVolumeDetachTimeoutSeconds, want.NodeVolumeDetachTimeoutSeconds, "nodeVolumeDetachTimeoutSeconds"),
		NodeDeletionTimeoutSeconds:     choose(have.NodeDeletionTimeoutSeconds, want.NodeDeletionTimeoutSeconds, "nodeDeletionTimeoutSeconds"),
	}
}
