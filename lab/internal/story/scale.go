package story

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drover-project/drover/lab/internal/timeline"
)

// scaleGapLimit is the longest silence of a client while servers join and leave.
const scaleGapLimit = 15 * time.Second

var scale313 = Story{
	Name: "scale-3-1-3",
	Purpose: "Three servers become one in one patch and three again: one leaves at a time, the cluster is a healthy pair in between, " +
		"and clients are served throughout.",
	play: playScale,
}

func playScale(ctx context.Context, r *Run) error {
	c, err := r.Create(ctx, Spec{Name: "scale", Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 60}, patience)
	if err != nil {
		return err
	}
	clients, err := c.startClients(ctx)
	if err != nil {
		return err
	}
	pair := c.watchForPair(ctx)
	down, err := c.scale(ctx, 1)
	if err != nil {
		return err
	}
	up, err := c.scale(ctx, 3)
	if err != nil {
		return err
	}
	c.WaitNodesGone(ctx)
	if err := clients.finishWithin(ctx, r, scaleGapLimit); err != nil {
		return err
	}
	if err := c.CheckMembers(ctx); err != nil {
		return err
	}
	r.Check("etcd", "exactly two started voters answered a quorum read between the removals", pair.seen(), "%s", pair.text())
	r.Add(leavingWithoutPods(c.events(ctx))...)
	r.Figure(
		timeline.AtMost("three servers to one", down, 5*time.Minute),
		timeline.AtMost("one server to three", up, 5*time.Minute),
	)
	r.drawPage("Three servers to one and back", "writer", "reader")
	return nil
}

// scale sets the number of servers and waits until there are that many; it returns how long that took.
func (c *Cluster) scale(ctx context.Context, servers int) (time.Duration, error) {
	c.r.Note("setting the number of servers to %d", servers)
	began := time.Now()
	if err := c.PatchPlane(ctx, fields{"replicas": int64(servers)}); err != nil {
		return 0, err
	}
	if err := c.WaitComplete(ctx, servers, c.Spec.Version, patience); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// leavingWithoutPods are the checks of leaving servers in a story that runs no pods of its own.
func leavingWithoutPods(events []timeline.Event) []timeline.Finding {
	var out []timeline.Finding
	for _, f := range timeline.CheckLeaving(events) {
		if f.Rule != timeline.RulePodsFirst {
			out = append(out, f)
		}
	}
	return out
}

// pairWatch remembers a quorum read that succeeded while the member list was exactly two voters.
type pairWatch struct {
	result chan string
	found  string
}

// watchForPair looks for the moment at which exactly two started voters are left, and reads through them.
func (c *Cluster) watchForPair(ctx context.Context) *pairWatch {
	p := &pairWatch{result: make(chan string, 1)}
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if text, ok := c.readThroughPair(ctx); ok {
				p.result <- text
				return
			}
		}
	}()
	return p
}

func (c *Cluster) readThroughPair(ctx context.Context) (string, bool) {
	members, at := c.Members.Current()
	if len(members) != 2 || members[0].Learner || members[1].Learner || members[0].Name == "" || members[1].Name == "" {
		return "", false
	}
	if time.Since(at) > time.Second {
		return "", false
	}
	readCtx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for _, m := range members {
		client, err := c.Etcd.Client(m.Address)
		if err != nil {
			continue
		}
		if _, err := client.Get(readCtx, "/registry/health", clientv3.WithCountOnly()); err == nil {
			return fmt.Sprintf("%s and %s, read through %s", members[0].Name, members[1].Name, m.Name), true
		}
	}
	return "", false
}

func (p *pairWatch) seen() bool {
	select {
	case p.found = <-p.result:
	default:
	}
	return p.found != ""
}

func (p *pairWatch) text() string {
	if p.found == "" {
		return "never seen"
	}
	return p.found
}
