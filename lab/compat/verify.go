package compat

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gitOps is the field owner of a tool that applies on the server's side.
const gitOps = client.FieldOwner("gitops")

// countMachines notes the Machines of a cluster that has come to rest.
func (c *check) countMachines(ctx context.Context) error {
	machines, err := c.machinesIn(ctx, c.sample.name)
	if err != nil {
		return err
	}
	for i := range machines {
		if _, server := machines[i].Labels[clusterv1.MachineControlPlaneLabel]; server {
			c.row.servers++
		} else {
			c.row.workers++
		}
	}
	if c.row.servers != 1 {
		c.row.fault("%d servers were made, and there must be one, the first", c.row.servers)
	}
	return nil
}

// verifyMachines tells how many Machines have been made since the cluster came
// to rest, and which are not up to date.
func (c *check) verifyMachines(ctx context.Context) error {
	machines, err := c.machinesIn(ctx, c.sample.name)
	if err != nil {
		return err
	}
	for i := range machines {
		if m := &machines[i]; !conditions.IsTrue(m, clusterv1.MachineUpToDateCondition) {
			c.row.fault("Machine %s is not up to date: %s", m.Name, conditions.GetMessage(m, clusterv1.MachineUpToDateCondition))
		}
	}
	servers, workers, err := c.machines.counts(c.sample.name)
	if err != nil {
		return err
	}
	if c.row.replaced = servers + workers - c.row.servers - c.row.workers; c.row.replaced > 0 {
		c.row.fault("%d Machines were made to replace others", c.row.replaced)
	}
	return nil
}

// unchanged does something that must not change what any object of the cluster wants.
func (c *check) unchanged(ctx context.Context, what string, do func(context.Context) error) error {
	before, err := c.generations(ctx, c.sample.name)
	if err != nil {
		return err
	}
	if err := do(ctx); err != nil {
		return err
	}
	after, err := c.generations(ctx, c.sample.name)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if before[name] != after[name] {
			c.row.fault("%s: %s went from generation %d to %d", what, name, before[name], after[name])
		}
	}
	return nil
}

// applyAgain applies what was meant once more: by kubectl, and as a tool would
// see it that asks the server what an apply of its own would change.
func (c *check) applyAgain(ctx context.Context) error {
	text, err := join(c.meant)
	if err != nil {
		return err
	}
	outcomes, _, err := c.kubectl.apply(ctx, text, c.meant, c.flags...)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.refusal != "" && !o.onlyStrict {
			c.row.fault("%s refused when it was applied again: %s", describe(o.object), o.refusal)
		}
		// A field that does not exist is sent, and dropped, every time.
		if isOurs(o.object) && o.change != "unchanged" && !slices.Contains(c.relaxed, o.object) {
			c.row.fault("kubectl calls %s %s when it is applied again", describe(o.object), o.change)
		}
	}
	for _, o := range c.meant {
		// A server-side apply refuses fields that do not exist.
		if isOurs(o) && !slices.Contains(c.relaxed, o) {
			if err := c.drift(ctx, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// drift tells what a server-side apply of an object would change.
func (c *check) drift(ctx context.Context, o *unstructured.Unstructured) error {
	applied := o.DeepCopy()
	if applied.GetNamespace() == "" {
		applied.SetNamespace(c.sample.name)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind())
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(applied), live); err != nil {
		return fmt.Errorf("read %s: %w", describe(o), err)
	}
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), gitOps, client.ForceOwnership, client.DryRunAll); err != nil {
		c.row.fault("a server-side apply of %s is refused: %v", describe(o), err)
		return nil
	}
	if changes := specDifference(live.Object["spec"], applied.Object["spec"]); changes != "" {
		c.row.fault("a server-side apply of %s would change it: %s", describe(o), changes)
	}
	return nil
}
