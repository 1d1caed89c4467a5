package story

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drover-project/drover/lab/internal/probe"
)

// followEtcd starts the probes that ask the members of the servers.
func (c *Cluster) followEtcd(ctx context.Context) error {
	r := c.r
	var tlsConfig *tls.Config
	if err := r.WaitFor(ctx, "the authority of etcd", patience, func(ctx context.Context) (_ bool, _ string, err error) {
		tlsConfig, err = probe.EtcdTLS(ctx, r.Management, c.Spec.key())
		return err == nil, "", err
	}); err != nil {
		return err
	}
	c.Etcd = probe.NewEtcd(r.Lab.DialContext, tlsConfig)
	context.AfterFunc(ctx, c.Etcd.Close)
	c.Members = probe.FollowMembers(ctx, c.Etcd, c.Machines.Addresses, r.Log)
	c.Removals = probe.FollowRemovals(ctx, r.Lab.DialContext, c.Machines.Addresses, r.Log)
	c.EtcdLogs = probe.FollowEtcdLogs(ctx, r.Lab, c.Members, r.Log)
	return nil
}

// memberFaults compares etcd's list with the servers' Nodes.
func (c *Cluster) memberFaults(nodes []string) []string {
	members, at := c.Members.Current()
	if time.Since(at) > 5*time.Second {
		return []string{"etcd's member list was last read " + time.Since(at).Round(time.Second).String() + " ago"}
	}
	var out []string
	var holders []string
	for _, m := range members {
		if m.Learner {
			out = append(out, "member "+m.Name+" is a learner")
		}
		holders = append(holders, m.Node)
	}
	slices.Sort(holders)
	nodes = slices.Sorted(slices.Values(nodes))
	if !slices.Equal(holders, nodes) {
		out = append(out, fmt.Sprintf("members of %v, servers %v", holders, nodes))
	}
	return out
}

// CheckMembers records that etcd's members are exactly the servers, all of them voters.
func (c *Cluster) CheckMembers(ctx context.Context) error {
	machines, err := c.servers(ctx)
	if err != nil {
		return fmt.Errorf("list servers: %w", err)
	}
	var nodes []string
	for _, m := range machines {
		nodes = append(nodes, m.Status.NodeRef.Name)
	}
	faults := c.memberFaults(nodes)
	measured := fmt.Sprintf("%d servers, %d voters", len(nodes), len(nodes))
	if len(faults) > 0 {
		measured = strings.Join(faults, "; ")
	}
	c.r.Check("etcd", "final members are the servers, all voters", len(faults) == 0, "%s", measured)
	return nil
}

// checkVoters records that each member, asked by itself, serves a read for which it needs the quorum.
func (c *Cluster) checkVoters(ctx context.Context) {
	members, _ := c.Members.Current()
	var sick []string
	for _, m := range members {
		if err := c.askMember(ctx, m.Address); err != nil {
			sick = append(sick, m.Name+": "+err.Error())
		}
	}
	c.r.Check("etcd", "every voter serves a quorum read", len(sick) == 0 && len(members) > 0, "%d voters, %d sick %s",
		len(members), len(sick), strings.Join(sick, "; "))
}

func (c *Cluster) askMember(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	member, err := c.Etcd.Client(address)
	if err != nil {
		return err
	}
	_, err = member.Get(ctx, "/registry/health", clientv3.WithCountOnly())
	return err
}
