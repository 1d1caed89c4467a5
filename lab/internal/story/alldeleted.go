package story

import (
	"context"
	"fmt"
	"time"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var allDeleted = Story{
	Name: "all-deleted",
	Purpose: "A user deletes all three servers at once: they queue before they are drained, each goes when its replacement votes, " +
		"and clients are served throughout.",
	play: playAllDeleted,
}

func playAllDeleted(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{Name: "all", Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 60}, 0)
	if err != nil {
		return err
	}
	machines, err := i.servers(ctx)
	if err != nil {
		return fmt.Errorf("list servers: %w", err)
	}
	for n := range machines {
		if err := i.deleteMachine(ctx, &machines[n]); err != nil {
			return err
		}
	}
	if err := i.end(ctx, versionOld, 8*time.Minute); err != nil {
		return err
	}
	events := r.Log.Events()
	r.Check("control plane", "each is replaced once", timeline.ServersCreated(events) == 6, "%d servers were ever created", timeline.ServersCreated(events))
	fewest := timeline.FewestVoters(events, i.began)
	r.Check("etcd", "never fewer voters than asked for", fewest >= 3, "at least %d voters", fewest)
	return nil
}
