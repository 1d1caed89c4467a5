package story

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var nodeDeletedRunning = Story{
	Name: "node-deleted",
	Purpose: "Somebody deletes the Node of a server that runs: RKE2 takes its member out and its control plane down, Drover " +
		"touches nobody else, and when its Machine is deleted the server is replaced.",
	play: playNodeDeleted,
}

// undisturbed is how long nothing may happen after RKE2 has done what a Node's deletion means to it.
const undisturbed = 20 * time.Second

func playNodeDeleted(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{Name: "nodeless", Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 60}, 0)
	if err != nil {
		return err
	}
	victim, err := i.follower(ctx)
	if err != nil {
		return err
	}
	deleted := time.Now()
	if err := i.deleteNode(ctx, victim); err != nil {
		return err
	}
	i.excuseDetection(deleted)
	if err := r.waitEvent(ctx, "RKE2 to take the member out", patience, func(e timeline.Event) bool {
		return e.Kind == timeline.MemberGone && e.Node == victim.Status.NodeRef.Name
	}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(undisturbed):
	}
	left := timeline.Departures(r.Log.Events())
	var others []string
	for _, d := range left {
		if d.Machine != victim.Name {
			others = append(others, d.Machine)
		}
	}
	r.Check("control plane", "no other server is touched", len(others) == 0, "%d other servers were told to go %v", len(others), others)
	if len(left) == 0 {
		if err := i.deleteMachine(ctx, victim); err != nil {
			return err
		}
	}
	return i.end(ctx, versionOld, 4*time.Minute)
}

// deleteNode is what somebody does with kubectl who means the Machine. RKE2 takes it for an order to remove the member.
func (i *incident) deleteNode(ctx context.Context, m *clusterv1.Machine) error {
	node := &corev1.Node{}
	node.Name = m.Status.NodeRef.Name
	i.r.Note("deleting Node %s by hand", node.Name)
	if err := i.Workload.Delete(ctx, node); err != nil {
		return fmt.Errorf("delete Node %s: %w", node.Name, err)
	}
	i.hurt[m.Name] = append(append(i.hurt[m.Name], deadHost...), timeline.RuleStep)
	return nil
}

var nodeDeletedLeaving = Story{
	Name: "node-deleted-leaving",
	Purpose: "Somebody deletes the Node of a server while it is drained: what is left of its departure goes on, and nothing waits " +
		"for a Node that will not come back.",
	play: playNodeDeletedLeaving,
}

func playNodeDeletedLeaving(ctx context.Context, r *Run) error {
	i, victim, err := r.drainingIncident(ctx, "impatient", briefSeconds)
	if err != nil {
		return err
	}
	if err := i.deleteNode(ctx, victim); err != nil {
		return err
	}
	return i.end(ctx, versionOld, 4*time.Minute)
}
