package story

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/timeline"
)

// upgrade installs the next release beside the running cluster, which must not notice.
func (i *installation) upgrade(ctx context.Context, c *Cluster) error {
	if err := i.repository.AddRelease(nextRelease); err != nil {
		return err
	}
	before, err := c.machineUIDs(ctx)
	if err != nil {
		return err
	}
	output, err := i.clusterctl(ctx, "upgrade", "plan", "--kubeconfig="+i.kubeconfig)
	if err != nil {
		return err
	}
	i.r.Check("clusterctl upgrade plan", "offers the next release", containsLine(output, "control-plane-rke2", i.repository.Drover, nextRelease), "%s", foundLine(output, "control-plane-rke2"))
	i.r.Note("clusterctl upgrade apply: rke2 %s", nextRelease)
	began := time.Now()
	if _, err := i.clusterctl(ctx, "upgrade", "apply", "--kubeconfig="+i.kubeconfig, "--bootstrap=rke2:"+nextRelease,
		"--control-plane=rke2:"+nextRelease, "--wait-providers", "--wait-provider-timeout=300"); err != nil {
		return err
	}
	i.r.Figure(timeline.AtMost("clusterctl upgrade apply --wait-providers", time.Since(began), installLimit))
	if err := i.judgeManagers(ctx, nextRelease); err != nil {
		return err
	}
	if err := c.WaitComplete(ctx, c.Spec.Servers, c.Spec.Version, patience); err != nil {
		return err
	}
	after, err := c.machineUIDs(ctx)
	if err != nil {
		return err
	}
	i.r.Check("upgraded managers", "replace no machine", slices.Equal(before, after), "%d machines before, %d after", len(before), len(after))
	return nil
}

// machineUIDs returns the identities of all machines of the cluster, sorted.
func (c *Cluster) machineUIDs(ctx context.Context) ([]string, error) {
	list := &clusterv1.MachineList{}
	if err := c.r.Management.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: c.Spec.Name}); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	var uids []string
	for _, m := range list.Items {
		uids = append(uids, string(m.UID))
	}
	slices.Sort(uids)
	return uids, nil
}

// remove is `clusterctl delete`: the managers go, and the kinds, with whatever users have of them, stay.
func (i *installation) remove(ctx context.Context) error {
	if _, err := i.clusterctl(ctx, "delete", "--kubeconfig="+i.kubeconfig, "--bootstrap=rke2", "--control-plane=rke2"); err != nil {
		return err
	}
	for _, d := range managerDeployments {
		if !d.drover {
			continue
		}
		err := i.r.Management.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: d.name}, &appsv1.Deployment{})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("look for manager %s: %w", d, err)
		}
		i.r.Check("clusterctl delete", "removes "+d.name, apierrors.IsNotFound(err), "found: %t", err == nil)
	}
	kind := &metav1.PartialObjectMetadata{}
	kind.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := i.r.Management.Get(ctx, client.ObjectKey{Name: "rke2controlplanes." + controlPlaneKind.Group}, kind)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("look for kind %s: %w", controlPlaneKind.Kind, err)
	}
	i.r.Check("clusterctl delete", "keeps the kinds", err == nil, "found: %t", err == nil)
	return nil
}
