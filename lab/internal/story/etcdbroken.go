package story

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var etcdBroken = Story{
	Name: "etcd-broken",
	Purpose: "The write-ahead log of one server's etcd is damaged, so that its static pod cannot start again: nothing is replaced " +
		"for that, and an upgrade takes the broken server first.",
	play: playEtcdBroken,
}

// breakEtcd ends the etcd of a server for good: it cannot read its log any more. The pattern does not match this script.
const breakEtcd = `for f in /var/lib/rancher/rke2/server/db/etcd/member/wal/*.wal; do
  head -c 4096 /dev/urandom >"$f" || exit 1
done
for p in /proc/[0-9]*; do
  if tr '\0' ' ' <"$p/cmdline" 2>/dev/null | grep -q -- '--initial-cluster-stat[e]='; then kill -9 "${p#/proc/}"; fi
done`

func playEtcdBroken(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{Name: "broken", Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 30}, 0)
	if err != nil {
		return err
	}
	victim, err := i.follower(ctx)
	if err != nil {
		return err
	}
	r.Note("damaging the write-ahead log of %s and ending its etcd", victim.Name)
	broken := time.Now()
	if err := r.script(ctx, victim.Name, breakEtcd); err != nil {
		return fmt.Errorf("break etcd: %w", err)
	}
	i.excuseDetection(broken)
	// Without its etcd the API server is none, so that the kubelet, which knows no other, hears of no eviction: there is
	// no drain to wait for, and the dead member has to go first, or no replacement could join.
	i.hurt[victim.Name] = append(slices.Clone(deadHost), timeline.RuleStep)
	if err := r.waitEvent(ctx, "the Node of "+victim.Name+" to be lost", lostLimit, func(e timeline.Event) bool {
		return e.Kind == timeline.NodeNotReady && e.Node == victim.Status.NodeRef.Name && e.At.After(broken)
	}); err != nil {
		return err
	}
	r.Check("control plane", "nothing is replaced for a broken etcd that nobody has given up", len(timeline.Departures(r.Log.Events())) == 0,
		"%d servers leave", len(timeline.Departures(r.Log.Events())))
	if err := i.askForUpgrade(ctx); err != nil {
		return err
	}
	if err := i.end(ctx, versionNew, 8*time.Minute); err != nil {
		return err
	}
	left := timeline.Departures(r.Log.Events())
	r.Check("control plane", "the broken server goes first", len(left) == 3 && left[0].Machine == victim.Name, "%d servers left, first %s",
		len(left), firstOf(left))
	return nil
}

func firstOf(left []timeline.Departure) string {
	if len(left) == 0 {
		return "none"
	}
	return left[0].Machine
}
