package story

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var externalDatastore = Story{
	Name: "external-datastore",
	Purpose: "Two servers without etcd keep their data in a datastore outside: they are upgraded, one whose host loses its power is " +
		"replaced, and when both Machines are deleted others take their places first: the clients are served throughout.",
	play: playExternalDatastore,
}

func playExternalDatastore(ctx context.Context, r *Run) error {
	if err := r.startDatastore(ctx); err != nil {
		return err
	}
	i, err := r.incident(ctx, Spec{
		Name: "outside", Servers: 2, Version: versionOld, MaxSurge: 1, DrainSeconds: 60, Datastore: datastoreName + "-endpoint",
	}, briefSeconds)
	if err != nil {
		return err
	}
	if err := i.upgrade(ctx); err != nil {
		return err
	}
	if err := i.loseHost(ctx); err != nil {
		return err
	}
	if err := i.deleteAllServers(ctx); err != nil {
		return err
	}
	i.WaitNodesGone(ctx)
	if err := i.finishClients(ctx); err != nil {
		return err
	}
	events := i.events(ctx)
	r.Add(drainedFirst(events, i.hurt)...)
	r.Check("Nodes", "nobody is asked to remove a member", !slices.ContainsFunc(events, func(e timeline.Event) bool { return e.Kind == timeline.NodeRemoveAsked }), "of %d servers that left", len(timeline.Departures(events)))
	i.drawPage()
	return nil
}

// loseHost has a health check replace a server whose host loses its power.
func (i *incident) loseHost(ctx context.Context) error {
	if err := i.r.Management.Create(ctx, i.healthCheck()); err != nil {
		return fmt.Errorf("create MachineHealthCheck: %w", err)
	}
	machines, err := i.servers(ctx)
	if err != nil {
		return fmt.Errorf("list servers: %w", err)
	}
	victim := &machines[0]
	i.excuseDetection(time.Now())
	if err := i.killHost(ctx, victim); err != nil {
		return err
	}
	if err := i.r.WaitFor(ctx, "Machine "+victim.Name+" to be replaced", 6*time.Minute, i.replaced(victim.Name)); err != nil {
		return err
	}
	return i.WaitComplete(ctx, i.Spec.Servers, versionNew, patience)
}

// deleteAllServers is a user who deletes every Machine of the control plane.
func (i *incident) deleteAllServers(ctx context.Context) error {
	machines, err := i.servers(ctx)
	if err != nil {
		return fmt.Errorf("list servers: %w", err)
	}
	for k := range machines {
		if err := i.deleteMachine(ctx, &machines[k]); err != nil {
			return err
		}
	}
	if err := i.r.WaitFor(ctx, "the deleted servers to go", 6*time.Minute, func(ctx context.Context) (bool, string, error) {
		now, err := i.servers(ctx)
		left := 0
		for k := range machines {
			for j := range now {
				if now[j].Name == machines[k].Name {
					left++
				}
			}
		}
		return err == nil && left == 0, fmt.Sprintf("%d are there", left), err
	}); err != nil {
		return err
	}
	return i.WaitComplete(ctx, i.Spec.Servers, versionNew, patience)
}

// drainedFirst wants each server that left in order to be out of the load balancers and without pods, if it had any, when
// its host was released.
func drainedFirst(events []timeline.Event, hurt map[string][]string) []timeline.Finding {
	var out []timeline.Finding
	for _, d := range timeline.Departures(events) {
		if len(hurt[d.Machine]) > 0 {
			continue
		}
		var excluded, pods time.Time
		released := releasedAt(events, d.Machine)
		for _, e := range events {
			switch {
			case e.Kind == timeline.NodeExcluded && e.Node == d.Node:
				excluded = e.At
			case e.Kind == timeline.PodGone && e.Node == d.Node:
				pods = e.At
			}
		}
		f := timeline.Finding{Subject: d.Machine, Rule: "out of the load balancer, then without pods, then released"}
		f.OK = !excluded.IsZero() && excluded.Before(released)
		f.Measured = fmt.Sprintf("released %s after it was taken out, no pod ran on it", released.Sub(excluded).Round(time.Second))
		if !pods.IsZero() {
			f.OK = f.OK && excluded.Before(pods) && pods.Before(released)
			f.Measured = fmt.Sprintf("pods gone %s after it was taken out, released %s after that", pods.Sub(excluded).Round(time.Second), released.Sub(pods).Round(time.Second))
		}
		out = append(out, f)
	}
	return out
}
