package story

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drover-project/drover/lab/internal/timeline"
)

// fixedHosts are all the hosts there are: a server can only be replaced by one of the same name.
var fixedHosts = []any{"rack-1", "rack-2", "rack-3"}

var fixedNames = Story{
	Name: "fixed-name",
	Purpose: "Servers are hosts with fixed names and there is no spare one: a host dies, and a new one of the same name takes its " +
		"place, past the old member, the old Node and the old node's password.",
	Short: true,
	play:  playFixedNames,
}

func playFixedNames(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{
		Name: "fixed", Servers: 3, Version: versionOld, MaxSurge: 0, DrainSeconds: 30, Hosts: fixedHosts,
	}, 0)
	if err != nil {
		return err
	}
	victim, err := i.follower(ctx)
	if err != nil {
		return err
	}
	before, err := i.nodeIdentities(ctx)
	if err != nil {
		return err
	}
	if err := i.killHost(ctx, victim); err != nil {
		return err
	}
	if err := i.deleteMachine(ctx, victim); err != nil {
		return err
	}
	if err := i.end(ctx, versionOld, 4*time.Minute); err != nil {
		return err
	}
	after, err := i.nodeIdentities(ctx)
	if err != nil {
		return err
	}
	name := victim.Status.NodeRef.Name
	r.Check("Node "+name, "is another one of the same name", after[name] != "" && after[name] != before[name], "%s, before %s", after[name], before[name])
	var names []string
	for node := range after {
		names = append(names, node)
	}
	slices.Sort(names)
	r.Check("control plane", "has the hosts that there are", strings.Join(names, " ") == "rack-1 rack-2 rack-3", "%v", names)
	most := timeline.MostServers(r.Log.Events())
	r.Check("control plane", "makes one Machine for the host that died", most <= 4, "at most %d servers at once", most)
	return i.checkRestart(ctx, name)
}

// checkRestart records that RKE2 starts again on the new host: with the Secret of the old one's password it would not.
func (i *incident) checkRestart(ctx context.Context, node string) error {
	machines, err := i.servers(ctx)
	if err != nil {
		return fmt.Errorf("list servers: %w", err)
	}
	for _, m := range machines {
		if m.Status.NodeRef.Name != node {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		out, code, err := i.r.Lab.Exec(ctx, m.Name, "systemctl", "restart", "rke2-server")
		i.r.Check(node, "RKE2 starts again on the new host", err == nil && code == 0, "exit code %d %s %v", code, oneLine(out), err)
		return nil
	}
	return fmt.Errorf("no server has the Node %s", node)
}
