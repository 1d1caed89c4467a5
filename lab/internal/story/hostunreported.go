package story

import (
	"context"
	"fmt"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var hostUnreported = Story{
	Name: "host-unreported",
	Purpose: "The second server of a cluster joins and votes before its infrastructure provider reports it, and a user deletes its " +
		"Machine in that moment: its host stays until its member can be recognised and has been removed.",
	play: playHostUnreported,
}

// unreportedFor is how long a host runs before anything is told of it: it joins in less.
const unreportedFor = 90 * time.Second

func playHostUnreported(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{Name: "unreported", Servers: 1, Version: versionOld, MaxSurge: 1, DrainSeconds: 30}, 0)
	if err != nil {
		return err
	}
	first, err := i.leader(ctx)
	if err != nil {
		return err
	}
	if err := i.useSlowHosts(ctx); err != nil {
		return err
	}
	victim, err := i.strangerOf(ctx, first.Name)
	if err != nil {
		return err
	}
	if err := i.deleteMachine(ctx, victim); err != nil {
		return err
	}
	if err := r.waitEvent(ctx, "Drover to say why it waits", time.Minute, func(e timeline.Event) bool {
		return e.Kind == timeline.ControlPlaneState && strings.Contains(e.Detail, victim.Name+" is not released: its addresses are not known yet")
	}); err != nil {
		return err
	}
	if err := r.WaitFor(ctx, "Machine "+victim.Name+" to go", patience, func(ctx context.Context) (bool, string, error) {
		err := r.Management.Get(ctx, client.ObjectKeyFromObject(victim), victim)
		return client.IgnoreNotFound(err) == nil && err != nil, "it is there", client.IgnoreNotFound(err)
	}); err != nil {
		return err
	}
	if err := i.end(ctx, versionOld, 8*time.Minute); err != nil {
		return err
	}
	checkMemberFirst(r, victim.Name)
	return nil
}

// useSlowHosts has the servers replaced by hosts that are reported late.
func (i *incident) useSlowHosts(ctx context.Context) error {
	name := i.Spec.Name + "-slow"
	template := i.Spec.object(labMachineKind.GroupVersion().String(), "LabMachineTemplate", name,
		fields{"template": fields{"spec": fields{"reportDelay": unreportedFor.String()}}})
	if err := i.r.Management.Create(ctx, template); err != nil {
		return fmt.Errorf("create LabMachineTemplate %s: %w", name, err)
	}
	i.r.Note("the servers are to be hosts that are reported %s after they have come up", unreportedFor)
	return i.PatchPlane(ctx, fields{"machineTemplate": fields{"spec": fields{
		"infrastructureRef": ref(labMachineKind.Group, "LabMachineTemplate", name), "deletion": i.Spec.deletion(),
	}}})
}

// strangerOf waits until a second voter is there whose Machine has no addresses, and gives that Machine.
func (i *incident) strangerOf(ctx context.Context, first string) (*clusterv1.Machine, error) {
	var found *clusterv1.Machine
	err := i.r.WaitFor(ctx, "a voter of which no Machine is known", patience, func(ctx context.Context) (bool, string, error) {
		machines, err := i.servers(ctx)
		if err != nil {
			return false, "", err
		}
		voters := i.voters()
		for k := range machines {
			if m := &machines[k]; m.Name != first && len(m.Status.Addresses) == 0 && voters == 2 {
				found = m
			}
		}
		return found != nil, fmt.Sprintf("%d machines, %d voters", len(machines), voters), nil
	})
	return found, err
}

// voters counts the members that vote.
func (c *Cluster) voters() int {
	members, _ := c.Members.Current()
	n := 0
	for _, m := range members {
		if !m.Learner {
			n++
		}
	}
	return n
}

// checkMemberFirst wants the member of a server to be off the list before its host was released.
func checkMemberFirst(r *Run, machine string) {
	var member time.Time
	released := releasedAt(r.Log.Events(), machine)
	for _, d := range timeline.Departures(r.Log.Events()) {
		if d.Machine == machine && len(d.Calls) > 0 {
			member = d.Calls[0].At
		}
	}
	ok := !member.IsZero() && member.Before(released)
	r.Check(machine, "its member went before its host was released", ok, "%s before", released.Sub(member).Round(time.Second))
}

// releasedAt is when our hook on a Machine went away, zero if it did not.
func releasedAt(events []timeline.Event, machine string) time.Time {
	at := time.Time{}
	for _, e := range events {
		if e.Kind == timeline.HookReleased && e.Machine == machine && e.Object == ourHook {
			at = e.At
		}
	}
	return at
}
