package story

import (
	"context"
	"fmt"
	"time"

	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/timeline"
)

// endpointLost is how long the load balancer takes everything and passes nothing on.
const endpointLost = time.Minute

var endpointBlackhole = Story{
	Name: "endpoint-blackhole",
	Purpose: "The load balancer in front of the API servers swallows everything for 60 s in the middle of an upgrade: nobody can be " +
		"served meanwhile, nothing is done blindly, and the upgrade goes on.",
	play: playEndpointBlackhole,
}

func playEndpointBlackhole(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{Name: "blackhole", Servers: 1, Version: versionOld, MaxSurge: 1, DrainSeconds: 60}, 0)
	if err != nil {
		return err
	}
	r.Note("setting the version of the control plane to %s", versionNew)
	if err := i.PatchPlane(ctx, fields{"version": versionNew}); err != nil {
		return err
	}
	if err := r.waitEvent(ctx, "the replacement to join", patience, func(e timeline.Event) bool {
		return e.Kind == timeline.MemberAdded && e.At.After(i.began)
	}); err != nil {
		return err
	}
	if err := i.loseEndpoint(ctx, endpointLost); err != nil {
		return err
	}
	if err := i.end(ctx, versionNew, 5*time.Minute); err != nil {
		return err
	}
	r.Check("control plane", "one replacement was made", timeline.ServersCreated(r.Log.Events()) == 2, "%d servers were ever created",
		timeline.ServersCreated(r.Log.Events()))
	return nil
}

// loseEndpoint blackholes the load balancer for some time, in which clients are excused.
func (i *incident) loseEndpoint(ctx context.Context, long time.Duration) error {
	i.r.Note("the load balancer swallows everything for %s", long)
	lost := timeline.Stretch{From: time.Now()}
	if err := i.r.Lab.DisturbBalancer(ctx, i.Spec.key(), control.Blackhole); err != nil {
		return fmt.Errorf("blackhole the endpoint: %w", err)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
	}
	if err := i.r.Lab.DisturbBalancer(ctx, i.Spec.key(), control.Heal); err != nil {
		return fmt.Errorf("heal the endpoint: %w", err)
	}
	lost.To = time.Now()
	i.excused = append(i.excused, lost)
	i.r.Note("the load balancer passes on again")
	return nil
}
