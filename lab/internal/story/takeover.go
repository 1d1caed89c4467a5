package story

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/drover-project/drover/lab/internal/incumbent"
)

const (
	// restTime is how long nothing may be replaced or rewritten after the provider under test has come.
	restTime = 10 * time.Minute
	// resyncPeriod is how often it looks at everything in that time without a reason.
	resyncPeriod = 30 * time.Second
	// adoptLimit is how long it may take until its hooks are on all servers.
	adoptLimit = 2 * time.Minute
)

var takeover = Story{
	Alone: true,
	Name:  "takeover",
	Purpose: "A cluster that another provider built comes under Drover while clients write: in ten minutes nothing is replaced or " +
		"rewritten, and an upgrade afterwards is as safe as any.",
	setup: Setup{ProviderLater: true},
	play:  playTakeover,
}

func playTakeover(ctx context.Context, r *Run) error {
	c, err := r.seed(ctx, Spec{Name: "taken", Servers: 3, Workers: 1, Version: versionOld, MaxSurge: 1, DrainSeconds: 300})
	if err != nil {
		return err
	}
	if err := c.RunSlowPods(ctx, c.Spec.Servers); err != nil {
		return err
	}
	clients, err := c.startClients(ctx)
	if err != nil {
		return err
	}
	if err := r.WaitFor(ctx, "the Cluster to be available", settleLimit, c.available); err != nil {
		return err
	}
	watch, err := c.watchTakeover(ctx)
	if err != nil {
		return err
	}
	if err := watch.start(ctx); err != nil {
		return err
	}
	if err := watch.rest(ctx); err != nil {
		return err
	}
	if err := watch.judge(ctx, clients); err != nil {
		return err
	}
	if err := c.safeUpgrade(ctx, clients, shared); err != nil {
		return err
	}
	if err := watch.judgeUpgrade(ctx); err != nil {
		return err
	}
	r.drawPage("A cluster taken over, at rest and upgraded", "writer", "reader")
	return nil
}

// seed has the cluster built by the incumbent provider, and returns when it is complete.
func (r *Run) seed(ctx context.Context, s Spec) (*Cluster, error) {
	objects := s.Objects()
	if err := incumbent.Admit(objects...); err != nil {
		return nil, err
	}
	provider := incumbent.Provider{Client: r.Management, Dial: r.Lab.DialContext, Cluster: s.key(), Say: r.say}
	// Whoever fails first ends the other. What follows the cluster lives as long as ctx.
	ctx, abort := context.WithCancelCause(ctx)
	built := make(chan error, 1)
	go func() {
		building, done := context.WithTimeout(ctx, patience)
		defer done()
		err := provider.Build(building)
		if err != nil {
			abort(err)
		}
		built <- err
	}()
	c, err := r.createFrom(ctx, s, objects, patience)
	if err != nil {
		abort(err)
		return nil, errors.Join(err, <-built)
	}
	if err := <-built; err != nil {
		return nil, fmt.Errorf("the incumbent's part: %w", err)
	}
	r.Note("the incumbent has built three servers and one worker, and ends")
	return c, nil
}
