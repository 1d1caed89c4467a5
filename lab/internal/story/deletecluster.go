package story

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var deleteCluster = Story{
	Name:    "delete-cluster",
	Purpose: "A cluster is deleted, once at rest and once in the middle of an upgrade: everything goes, down to the last machine and secret.",
	play:    playDelete,
}

func playDelete(ctx context.Context, r *Run) error {
	rest, err := r.Create(ctx, Spec{Name: "at-rest", Servers: 3, Workers: 1, Version: versionOld, MaxSurge: 1, DrainSeconds: 60}, patience)
	if err != nil {
		return err
	}
	if err := rest.deleteAll(ctx, "at rest"); err != nil {
		return err
	}
	mid, err := r.Create(ctx, Spec{Name: "mid-rollout", Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 300}, patience)
	if err != nil {
		return err
	}
	if err := mid.RunSlowPods(ctx, 3); err != nil {
		return err
	}
	if err := mid.askForUpgrade(ctx); err != nil {
		return err
	}
	if err := r.WaitFor(ctx, "a server that is draining", 5*time.Minute, mid.draining); err != nil {
		return err
	}
	return mid.deleteAll(ctx, "in the middle of an upgrade")
}

func (c *Cluster) draining(ctx context.Context) (bool, string, error) {
	machines, err := c.servers(ctx)
	for _, m := range machines {
		for _, cond := range m.Status.Conditions {
			if cond.Type == clusterv1.MachineDeletingCondition && cond.Reason == clusterv1.MachineDeletingDrainingNodeReason {
				return true, "", nil
			}
		}
	}
	return false, fmt.Sprintf("%d servers, none draining", len(machines)), err
}

// leftoverKinds are what must be gone with a cluster.
var leftoverKinds = []schema.GroupVersionKind{
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "MachineDeployment"},
	{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"},
	{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "RKE2ControlPlane"},
	{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "RKE2Config"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "LabCluster"},
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "LabMachine"},
}

// deleteAll deletes the Cluster and records whether everything of it went.
func (c *Cluster) deleteAll(ctx context.Context, when string) error {
	c.r.Note("deleting cluster %s %s", c.Spec.Name, when)
	began := time.Now()
	cluster := &clusterv1.Cluster{}
	cluster.Namespace, cluster.Name = namespace, c.Spec.Name
	if err := c.r.Management.Delete(ctx, cluster); err != nil {
		return fmt.Errorf("delete cluster %s: %w", c.Spec.Name, err)
	}
	defer c.stop()
	var left []string
	err := c.r.WaitFor(ctx, "everything of "+c.Spec.Name+" to go", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
		var err error
		left, err = c.leftovers(ctx)
		return err == nil && len(left) == 0, strings.Join(left, ", "), err
	})
	c.r.Check("cluster "+c.Spec.Name, "deleted "+when+", nothing is left", err == nil, "%d objects left %v", len(left), left)
	machines, listErr := c.r.Lab.MachineNames(ctx)
	c.r.Check("cluster "+c.Spec.Name, "no machine runs any more", listErr == nil && len(machines) == 0, "%d machines %v", len(machines), machines)
	c.r.Figure(timeline.AtMost("deletion "+when, time.Since(began), 2*time.Minute))
	return errors.Join(err, listErr)
}

func (c *Cluster) leftovers(ctx context.Context) ([]string, error) {
	var out []string
	for _, gvk := range leftoverKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := c.r.Management.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			if o.GetName() == c.Spec.Name || o.GetLabels()[clusterv1.ClusterNameLabel] == c.Spec.Name {
				out = append(out, gvk.Kind+" "+o.GetName())
			}
		}
	}
	secrets := &corev1.SecretList{}
	if err := c.r.Management.List(ctx, secrets, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: c.Spec.Name}); err != nil {
		return nil, err
	}
	for _, s := range secrets.Items {
		out = append(out, "Secret "+s.Name)
	}
	return out, nil
}
