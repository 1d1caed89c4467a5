// Package reversed removes a server from a cluster in the order that must never be used: its etcd member first, its
// pods afterwards. The laboratory uses it to show that this order does the harm that the product exists to prevent,
// and that the checks of the laboratory see that harm. It is no part of the product, and takes no part in it.
package reversed

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/probe"
)

// callTimeout bounds each call to etcd.
const callTimeout = 10 * time.Second

// Removal says what to remove and through what.
type Removal struct {
	Management client.Client
	Etcd       *probe.Etcd
	// Addresses are those of all members.
	Addresses []string
	// Machine is the server to remove.
	Machine *clusterv1.Machine
	// Hooks are the deletion hooks to strip, so that nobody waits for the provider that is not running.
	Hooks []string
	Say   func(string)
}

// MemberFirst removes the etcd member of the server, then deletes its Machine, and leaves the drain to CAPI.
func (r Removal) MemberFirst(ctx context.Context) error {
	members, err := r.Etcd.Members(ctx, r.Addresses)
	if err != nil {
		return err
	}
	victim, heir, err := choose(members, r.Machine.Status.NodeRef.Name)
	if err != nil {
		return fmt.Errorf("reverse the order for %s: %w", r.Machine.Name, err)
	}
	if victim.Leader {
		if err := r.call(ctx, victim.Address, func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.MoveLeader(ctx, heir.ID)
			return err
		}); err != nil {
			return fmt.Errorf("move leadership from %s to %s: %w", victim.Name, heir.Name, err)
		}
		r.Say("moved etcd leadership to " + heir.Name)
	}
	if err := r.call(ctx, heir.Address, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.MemberRemove(ctx, victim.ID)
		return err
	}); err != nil {
		return fmt.Errorf("remove member %s: %w", victim.Name, err)
	}
	r.Say("removed etcd member " + victim.Name + " before its node was drained")
	return r.deleteMachine(ctx)
}

// choose finds the member of the node and another voter that survives it.
func choose(members []probe.Member, node string) (victim, heir probe.Member, err error) {
	for _, m := range members {
		switch {
		case m.Node == node:
			victim = m
		case !m.Learner:
			heir = m
		}
	}
	if victim.ID == 0 || heir.ID == 0 {
		return victim, heir, errors.New("it needs a member of its own and another voter")
	}
	return victim, heir, nil
}

func (r Removal) call(ctx context.Context, address string, do func(context.Context, *clientv3.Client) error) error {
	c, err := r.Etcd.Client(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return do(ctx, c)
}

func (r Removal) deleteMachine(ctx context.Context) error {
	machine := r.Machine.DeepCopy()
	before := machine.DeepCopy()
	for _, hook := range r.Hooks {
		delete(machine.Annotations, hook)
	}
	if err := r.Management.Patch(ctx, machine, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("strip hooks of machine %s: %w", machine.Name, err)
	}
	if err := r.Management.Delete(ctx, machine); err != nil {
		return fmt.Errorf("delete machine %s: %w", machine.Name, err)
	}
	r.Say("deleted machine " + machine.Name)
	return nil
}
