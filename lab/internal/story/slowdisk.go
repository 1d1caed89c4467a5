package story

import (
	"context"
	"fmt"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/drover-project/drover/lab/internal/cri"
	"github.com/drover-project/drover/lab/internal/probe"
	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	// syncDelayFile says inside a machine how slow its disk is.
	syncDelayFile = "/run/lab-sync-delay"
	// slowSync is how much longer a sync takes on the slow disk; etcd advises 10 ms at most. A quorum read through the
	// member takes some ten syncs, one after the other, its own database's among them.
	slowSync = 250 * time.Millisecond
)

var slowDisk = Story{
	Name: "slow-disk",
	Purpose: "The disk under one server's etcd needs 250 ms more for each sync: it stays a member, nobody replaces it, and another " +
		"server, the leader, is replaced beside it.",
	play: playSlowDisk,
}

func playSlowDisk(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{
		Name: "disk", Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 60,
		EtcdEnv: fields{cri.SyncDelayFile: syncDelayFile},
	}, 0)
	if err != nil {
		return err
	}
	slow, err := i.follower(ctx)
	if err != nil {
		return err
	}
	victim, err := i.leader(ctx)
	if err != nil {
		return err
	}
	address := internalIP(slow)
	r.Note("the disk of %s needs %s more for each sync", slow.Name, slowSync)
	if err := i.slowDown(ctx, slow); err != nil {
		return err
	}
	before, err := probe.ReadSyncs(ctx, r.Lab.DialContext, address)
	if err != nil {
		return err
	}
	if err := i.deleteMachine(ctx, victim); err != nil {
		return err
	}
	if err := r.waitEvent(ctx, victim.Name+" to go", patience, func(e timeline.Event) bool {
		return e.Kind == timeline.MachineGone && e.Machine == victim.Name
	}); err != nil {
		r.Add(i.leaving(i.events(ctx))...)
		return err
	}
	after, err := probe.ReadSyncs(ctx, r.Lab.DialContext, address)
	if err != nil {
		return err
	}
	average, n := after.Since(before)
	r.Check(slow.Name, "etcd itself says that its disk is slow", n > 0 && average >= slowSync, "%d syncs of its log, %s on average",
		n, average.Round(time.Millisecond))
	if err := i.end(ctx, versionOld, 4*time.Minute); err != nil {
		return err
	}
	left := timeline.Departures(r.Log.Events())
	r.Check("control plane", "the slow server stays", len(left) == 1 && left[0].Machine == victim.Name, "%d servers left, first %s",
		len(left), firstOf(left))
	r.Check("etcd", "leadership moved before the old member went", timeline.LeaderMovedFirst(i.events(ctx)), "%s", timeline.LeadersText(i.events(ctx)))
	return nil
}

// slowDown makes a server's disk slow.
func (i *incident) slowDown(ctx context.Context, m *clusterv1.Machine) error {
	if err := i.r.script(ctx, m.Name, fmt.Sprintf("echo %s >%s", slowSync, syncDelayFile)); err != nil {
		return fmt.Errorf("slow the disk down: %w", err)
	}
	return nil
}

func internalIP(m *clusterv1.Machine) string {
	for _, a := range m.Status.Addresses {
		if a.Type == clusterv1.MachineInternalIP {
			return a.Address
		}
	}
	return ""
}
