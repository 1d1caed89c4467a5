package story

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/timeline"
)

var hostKilledDraining = Story{
	Name: "host-killed-draining",
	Purpose: "A host loses its power while its node is drained: its pods and its kubelet never answer again, and the server " +
		"leaves all the same.",
	play: playHostKilledDraining,
}

func playHostKilledDraining(ctx context.Context, r *Run) error {
	i, victim, err := r.drainingIncident(ctx, "draining", stopSeconds)
	if err != nil {
		return err
	}
	if err := i.killHost(ctx, victim); err != nil {
		return err
	}
	return i.end(ctx, versionOld, 5*time.Minute)
}

// killHost switches a machine off for good, and asks no order of it any more.
func (i *incident) killHost(ctx context.Context, m *clusterv1.Machine) error {
	i.r.Note("the host of %s loses its power", m.Name)
	if err := i.r.Lab.Disturb(ctx, m.Name, control.Kill); err != nil {
		return fmt.Errorf("kill host %s: %w", m.Name, err)
	}
	i.hurt[m.Name] = append(i.hurt[m.Name], deadHost...)
	i.silenced = append(i.silenced, m.Status.NodeRef.Name)
	return nil
}

var hostKilledRemoved = Story{
	Name: "host-killed-removed",
	Purpose: "A server is drained and its member removed, as it should be; then its host loses its power before the cloud " +
		"destroys it.",
	Short: true,
	play:  playHostKilledRemoved,
}

func playHostKilledRemoved(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{Name: "removed", Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 120}, briefSeconds)
	if err != nil {
		return err
	}
	victim, err := i.follower(ctx)
	if err != nil {
		return err
	}
	host := infraOf(victim)
	// A cloud that takes its time.
	if err := i.annotate(ctx, host, clusterv1.PausedAnnotation, "story"); err != nil {
		return err
	}
	if err := i.deleteMachine(ctx, victim); err != nil {
		return err
	}
	if err := r.waitEvent(ctx, "the member of "+victim.Name+" to go", patience, func(e timeline.Event) bool {
		return e.Kind == timeline.MemberGone && e.Node == victim.Status.NodeRef.Name
	}); err != nil {
		return err
	}
	r.Note("the host of %s loses its power", victim.Name)
	if err := r.Lab.Disturb(ctx, victim.Name, control.Kill); err != nil {
		return fmt.Errorf("kill host %s: %w", victim.Name, err)
	}
	if err := r.WaitFor(ctx, "core to have the infrastructure destroyed", patience, func(ctx context.Context) (bool, string, error) {
		err := r.Management.Get(ctx, client.ObjectKeyFromObject(host), host)
		return err == nil && host.GetDeletionTimestamp() != nil, "not yet", err
	}); err != nil {
		return err
	}
	if err := i.annotate(ctx, host, clusterv1.PausedAnnotation, nil); err != nil {
		return err
	}
	return i.end(ctx, versionOld, 4*time.Minute)
}

// infraOf is the infrastructure's object of a Machine, as far as its name.
func infraOf(m *clusterv1.Machine) *unstructured.Unstructured {
	host := &unstructured.Unstructured{}
	host.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
	host.SetKind(m.Spec.InfrastructureRef.Kind)
	host.SetNamespace(m.Namespace)
	host.SetName(m.Spec.InfrastructureRef.Name)
	return host
}
