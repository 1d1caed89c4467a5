package workload

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What may keep a Node from being drained or its volumes from being detached is
// read for people alone, and only while a Machine is being deleted.

// PodsOn lists the pods of a Node.
func (c *Cluster) PodsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	list := &corev1.PodList{}
	if err := c.client.List(ctx, list, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return nil, fmt.Errorf("list pods on Node %s: %w", node, err)
	}
	return list.Items, nil
}

// DisruptionBudgets lists the PodDisruptionBudgets of a namespace.
func (c *Cluster) DisruptionBudgets(ctx context.Context, namespace string) ([]policyv1.PodDisruptionBudget, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	list := &policyv1.PodDisruptionBudgetList{}
	if err := c.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list PodDisruptionBudgets in %s: %w", namespace, err)
	}
	return list.Items, nil
}

// NamespaceLabels are the labels of a namespace.
func (c *Cluster) NamespaceLabels(ctx context.Context, name string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	namespace := &corev1.Namespace{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return nil, fmt.Errorf("read Namespace %s: %w", name, err)
	}
	return namespace.Labels, nil
}

// VolumeAttachments lists what is still attached to a Node.
func (c *Cluster) VolumeAttachments(ctx context.Context, node string) ([]storagev1.VolumeAttachment, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	list := &storagev1.VolumeAttachmentList{}
	if err := c.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list VolumeAttachments: %w", err)
	}
	var out []storagev1.VolumeAttachment
	for _, a := range list.Items {
		if a.Spec.NodeName == node && a.Status.Attached {
			out = append(out, a)
		}
	}
	return out, nil
}

// ClaimOf is the claim that a PersistentVolume is bound to, as namespace/name,
// empty when there is none or it can't be read.
func (c *Cluster) ClaimOf(ctx context.Context, volume string) string {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	pv := &corev1.PersistentVolume{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: volume}, pv); err != nil || pv.Spec.ClaimRef == nil {
		return ""
	}
	return pv.Spec.ClaimRef.Namespace + "/" + pv.Spec.ClaimRef.Name
}
