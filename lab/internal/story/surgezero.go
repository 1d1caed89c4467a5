package story

import (
	"context"
	"time"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var surgeZero = Story{
	Name:    "surge-zero",
	Purpose: "Three servers are upgraded without a spare machine (maxSurge 0): there are never four, and two voters carry the cluster meanwhile.",
	play:    playSurgeZero,
}

func playSurgeZero(ctx context.Context, r *Run) error {
	c, err := r.Create(ctx, Spec{Name: "zero", Servers: 3, Version: versionOld, MaxSurge: 0, DrainSeconds: 60}, patience)
	if err != nil {
		return err
	}
	clients, err := c.startClients(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := c.upgrade(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	c.WaitNodesGone(ctx)
	if err := clients.finishWithin(ctx, r, scaleGapLimit); err != nil {
		return err
	}
	if err := c.CheckMembers(ctx); err != nil {
		return err
	}
	events := c.events(ctx)
	r.Add(leavingWithoutPods(events)...)
	most := timeline.MostServers(events)
	r.Check("control plane", "never more servers than asked for", most == 3, "at most %d servers at once", most)
	fewest := timeline.FewestVoters(events, began)
	r.Check("etcd", "never fewer than two voters", fewest >= 2, "at least %d voters", fewest)
	r.Figure(timeline.AtMost("whole upgrade of three servers, no surge", took, 6*time.Minute))
	r.drawPage("A rolling upgrade without a spare machine", "writer", "reader")
	return nil
}
