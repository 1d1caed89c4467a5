package act

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/world/scope"
)

// sweep deletes what a crash between the writes of a former creation left:
// RKE2Configs and infrastructure machines of this control plane that no
// Machine has taken over.
func (a *Actor) sweep(ctx context.Context, s *scope.Scope, template *unstructured.Unstructured) error {
	machines, err := a.liveMachines(ctx, s)
	if err != nil {
		return err
	}
	configs := &bootstrapv1.RKE2ConfigList{}
	if err := a.Live.List(ctx, configs, ours(s)...); err != nil {
		return fmt.Errorf("list RKE2Configs: %w", err)
	}
	for i := range configs.Items {
		if err := a.deleteLeftover(ctx, s, machines, &configs.Items[i]); err != nil {
			return err
		}
	}
	infra := &unstructured.UnstructuredList{}
	infra.SetAPIVersion(template.GetAPIVersion())
	infra.SetKind(strings.TrimSuffix(template.GetKind(), clusterv1.TemplateSuffix) + "List")
	if err := a.Live.List(ctx, infra, ours(s)...); err != nil {
		return fmt.Errorf("list infrastructure machines: %w", err)
	}
	for i := range infra.Items {
		if err := a.deleteLeftover(ctx, s, machines, &infra.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func ours(s *scope.Scope) []client.ListOption {
	return []client.ListOption{
		client.InNamespace(s.ControlPlane.Namespace),
		client.MatchingLabels{
			clusterv1.ClusterNameLabel:             s.Cluster.Name,
			clusterv1.MachineControlPlaneNameLabel: format.MustFormatValue(s.ControlPlane.Name),
		},
	}
}

// deleteLeftover deletes an object that still belongs to the control plane
// alone and that no Machine refers to.
func (a *Actor) deleteLeftover(ctx context.Context, s *scope.Scope, machines collections.Machines, obj client.Object) error {
	owners := obj.GetOwnerReferences()
	if len(owners) != 1 || owners[0].UID != s.ControlPlane.UID || metav1.GetControllerOf(obj) != nil || referredTo(machines, obj.GetName()) {
		return nil
	}
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	err := a.Client.Delete(ctx, obj, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err := client.IgnoreNotFound(err); err != nil {
		return changedMeanwhile(err, "leftover "+obj.GetName(), "delete")
	}
	return nil
}

func referredTo(machines collections.Machines, name string) bool {
	for _, m := range machines {
		if m.Spec.Bootstrap.ConfigRef.Name == name || m.Spec.InfrastructureRef.Name == name {
			return true
		}
	}
	return false
}
