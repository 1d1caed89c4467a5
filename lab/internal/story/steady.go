package story

import (
	"context"
	"fmt"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// steadyTime is how long nothing happens.
	steadyTime = 10 * time.Minute
	// readsPerReconcile is how many reads of the management cluster one look at a settled object may take, those that keep
	// the caches going included.
	readsPerReconcile = 6
)

var steady = Story{
	Name:    "steady",
	Purpose: "Nothing happens to a settled cluster for ten minutes: Drover looks at it now and then, and writes nothing at all.",
	play:    playSteady,
}

func playSteady(ctx context.Context, r *Run) error {
	c, err := r.Create(ctx, Spec{Name: "steady", Servers: 3, Workers: 1, Version: versionOld, MaxSurge: 1, DrainSeconds: 60}, patience)
	if err != nil {
		return err
	}
	if err := r.WaitFor(ctx, "every condition to be known", settleLimit, c.settled); err != nil {
		return err
	}
	if err := r.waitQuiet(ctx, quietTime/2, settleLimit); err != nil {
		return err
	}
	return c.judgeSteady(ctx, steadyTime)
}

// waitQuiet waits until the manager has written nothing for some time.
func (r *Run) waitQuiet(ctx context.Context, quiet, limit time.Duration) error {
	writes, since := -1, time.Now()
	return r.WaitFor(ctx, "the manager to have written all it has to", limit, func(ctx context.Context) (bool, string, error) {
		now, err := r.managerActivity(ctx)
		if err == nil && now.Writes != writes {
			writes, since = now.Writes, time.Now()
		}
		return err == nil && time.Since(since) >= quiet, fmt.Sprintf("%d writes so far", writes), err
	})
}

// judgeSteady watches a settled cluster and records what the manager did meanwhile. That it looks at all is made sure by
// a label on a Machine, which means nothing to it.
func (c *Cluster) judgeSteady(ctx context.Context, long time.Duration) error {
	r := c.r
	before, err := r.managerActivity(ctx)
	if err != nil {
		return err
	}
	r.Note("nothing happens for %s", long)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
	}
	if err := c.label(ctx); err != nil {
		return err
	}
	if err := r.WaitFor(ctx, "the manager to look", settleLimit, func(ctx context.Context) (bool, string, error) {
		now, err := r.managerActivity(ctx)
		return err == nil && now.Reconciles > before.Reconciles, "it has not looked yet", err
	}); err != nil {
		return err
	}
	after, err := r.managerActivity(ctx)
	if err != nil {
		return err
	}
	did := after.Since(before)
	r.Check("manager", fmt.Sprintf("writes nothing for %s", long), did.Writes == 0, "%d writes", did.Writes)
	r.Check("manager", fmt.Sprintf("at most %d reads for each look", readsPerReconcile), did.Reads <= readsPerReconcile*did.Reconciles,
		"%d reads, %d looks", did.Reads, did.Reconciles)
	return nil
}

// label puts a label on a server's Machine.
func (c *Cluster) label(ctx context.Context) error {
	machines, err := c.servers(ctx)
	if err != nil || len(machines) == 0 {
		return fmt.Errorf("list servers: %d: %w", len(machines), err)
	}
	m := &machines[0]
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"story.example.com/steady":"true"}}}`))
	if err := c.r.Management.Patch(ctx, &clusterv1.Machine{ObjectMeta: m.ObjectMeta}, patch); err != nil {
		return fmt.Errorf("label machine %s: %w", m.Name, err)
	}
	return nil
}
