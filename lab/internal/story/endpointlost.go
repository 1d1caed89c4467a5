package story

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/timeline"
)

// endpointLost is how long the load balancer takes everything and passes nothing on.
const endpointLost = time.Minute

var endpointBlackhole = Story{
	Name: "endpoint-blackhole",
	Purpose: "The load balancer in front of the API servers swallows everything for 60 s in the middle of an upgrade: nobody can be " +
		"served meanwhile, nothing is done blindly, and the upgrade goes on.",
	Short: true,
	play:  playEndpointBlackhole,
}

func playEndpointBlackhole(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{Name: "blackhole", Servers: 1, Version: versionOld, MaxSurge: 1, DrainSeconds: 60}, 0)
	if err != nil {
		return err
	}
	if err := i.askForUpgrade(ctx); err != nil {
		return err
	}
	if err := r.waitEvent(ctx, "the replacement to join", patience, func(e timeline.Event) bool {
		return e.Kind == timeline.MemberAdded && e.At.After(i.began)
	}); err != nil {
		return err
	}
	machines, err := i.servers(ctx)
	if err != nil {
		return fmt.Errorf("list servers: %w", err)
	}
	if err := i.loseEndpoint(ctx, endpointLost); err != nil {
		return err
	}
	for _, m := range machines {
		if m.Spec.Version == versionNew {
			continue // it is joining
		}
		if err := i.checkStayedReady(ctx, &m); err != nil {
			return err
		}
	}
	if err := i.end(ctx, versionNew, 5*time.Minute); err != nil {
		return err
	}
	r.Check("control plane", "one replacement was made", timeline.ServersCreated(r.Log.Events()) == 2, "%d servers were ever created",
		timeline.ServersCreated(r.Log.Events()))
	return nil
}

// checkStayedReady records that a Node's controllers saw no lapse of its kubelet while nobody could look on. The leases
// that it renewed meanwhile were seen by nobody, so they are not asked for.
func (i *incident) checkStayedReady(ctx context.Context, m *clusterv1.Machine) error {
	lost := i.excused[len(i.excused)-1]
	i.hurt[m.Name] = append(i.hurt[m.Name], timeline.RuleFreshLease)
	return i.r.WaitFor(ctx, "the Node of "+m.Name+" to be read", settleLimit, func(ctx context.Context) (bool, string, error) {
		node := &corev1.Node{}
		if err := i.Workload.Get(ctx, client.ObjectKey{Name: m.Status.NodeRef.Name}, node); err != nil {
			return false, "", err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				since := c.LastTransitionTime.Time
				i.r.Check(m.Name, "its Node stayed Ready while the endpoint was lost", c.Status == corev1.ConditionTrue && since.Before(lost.From),
					"Ready is %s since %s, the endpoint was lost at %s", c.Status, since.Format(time.TimeOnly), lost.From.Format(time.TimeOnly))
			}
		}
		return true, "", nil
	})
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
