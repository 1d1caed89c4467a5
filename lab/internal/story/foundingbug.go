package story

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/drover-project/drover/lab/internal/probe"
	"github.com/drover-project/drover/lab/internal/timeline"
)

// limits are the figures of a whole upgrade.
type limits struct {
	// gap is the longest silence of a client.
	gap time.Duration
	// hook is how long our hook may take, in the median.
	hook time.Duration
	// slack is what an upgrade may take beyond the time in which pods stop.
	slack time.Duration
}

var (
	// promised is what the product promises; only a story that runs alone can be held to it.
	promised = limits{gap: 5 * time.Second, hook: 2 * time.Second, slack: 150 * time.Second}
	// shared is for stories that share the computer with others: everything but the speed is as promised.
	shared = limits{gap: scaleGapLimit, hook: 10 * time.Second, slack: 8 * time.Minute}
)

const (
	readyLimit  = 3 * time.Minute
	memoryLimit = 6 << 30
	// patience is how long a story waits for something before it gives up; far beyond every promise, so that the
	// figure itself can be printed.
	patience = 12 * time.Minute
)

// ourHook is the pre-terminate hook that the control plane provider keeps on each of its machines.
const ourHook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/rke2-cleanup"

var foundingBug = Story{
	Name: "founding-bug",
	Purpose: "A three-server cluster is upgraded while pods need 60 s to stop: each server is drained before its etcd member goes, " +
		"and clients hardly notice.",
	Alone: true,
	play:  playFoundingBug,
}

func foundingSpec() Spec {
	return Spec{Name: "founding", Servers: 3, Workers: 1, Version: versionOld, MaxSurge: 1, DrainSeconds: 300}
}

func playFoundingBug(ctx context.Context, r *Run) error {
	c, err := r.Create(ctx, foundingSpec(), patience)
	if err != nil {
		return err
	}
	ready := time.Since(r.start)
	r.Note("three servers and one worker are ready after %s", ready.Round(time.Second))
	if err := c.RunSlowPods(ctx, c.Spec.Servers); err != nil {
		return err
	}
	clients, err := c.startClients(ctx)
	if err != nil {
		return err
	}
	if err := c.safeUpgrade(ctx, clients, promised); err != nil {
		return err
	}
	r.Figure(
		timeline.AtMost("start to three servers and one worker ready", ready, readyLimit),
		memoryFigure(r.memory.Peak()),
	)
	r.drawPage("A rolling upgrade, drained before the member goes", "writer", "reader")
	return nil
}

// safeUpgrade upgrades a cluster whose servers carry slow pods while clients ask it, ends the clients, and records
// whether every promise of an upgrade was kept.
func (c *Cluster) safeUpgrade(ctx context.Context, clients *clients, within limits) error {
	r := c.r
	began := time.Now()
	if err := c.upgrade(ctx); err != nil {
		r.Add(timeline.CheckLeaving(c.events(ctx))...)
		r.drawPage("A rolling upgrade that did not end", "writer", "reader")
		return err
	}
	took := time.Since(began)
	r.Note("upgrade complete after %s", took.Round(time.Second))
	hooks := timeline.HookTimes(r.Log.Events(), ourHook)
	r.Figure(
		timeline.AtMost("whole upgrade of three servers", took, time.Duration(c.Spec.Servers*stopSeconds)*time.Second+within.slack),
		timeline.AtMost(fmt.Sprintf("hook released after (median of %d)", len(hooks)), cmp.Or(timeline.Median(hooks), time.Hour), within.hook),
	)
	c.WaitNodesGone(ctx)
	if err := clients.finishWithin(ctx, r, within.gap); err != nil {
		return err
	}
	if err := c.CheckMembers(ctx); err != nil {
		return err
	}
	events := c.events(ctx)
	r.Add(timeline.CheckLeaving(events)...)
	c.checkCounted(6)
	stamped, gone := timeline.StampedRemovals(events)
	r.Check("etcd", "the members' own logs date every removal", stamped == gone, "%d of %d removals", stamped, gone)
	departed := len(timeline.Departures(events))
	r.Check("control plane", "every old server left", departed == c.Spec.Servers, "%d of %d", departed, c.Spec.Servers)
	return nil
}

func memoryFigure(peak int64) timeline.Figure {
	const gib = 1 << 30
	return timeline.Figure{
		Name: "memory of everything, peak", Value: fmt.Sprintf("%.2f GiB", float64(peak)/gib),
		Limit: fmt.Sprintf("≤ %d GiB", memoryLimit/gib), OK: peak > 0 && peak <= memoryLimit,
	}
}

// askForUpgrade asks for the newer version, as a user does.
func (c *Cluster) askForUpgrade(ctx context.Context) error {
	c.r.Note("setting the version of the control plane to %s", versionNew)
	return c.PatchPlane(ctx, fields{"version": versionNew})
}

// upgrade asks for the newer version and waits until every server has it.
func (c *Cluster) upgrade(ctx context.Context) error {
	if err := c.askForUpgrade(ctx); err != nil {
		return err
	}
	return c.WaitComplete(ctx, c.Spec.Servers, versionNew, patience)
}

// checkCounted records that etcd's own counters could be read, so that "no call counted" means something.
func (c *Cluster) checkCounted(servers int) {
	n := c.Removals.Members()
	c.r.Check("etcd", "the members' own counters were read", n >= servers, "%d of %d members", n, servers)
}

// drawPage fills the HTML page of the run, with a row for each of the named clients.
func (r *Run) drawPage(title string, clients ...string) {
	r.Page.Title = title
	r.Page.Chart = timeline.Build(r.Log.Events(), time.Now(), clients...)
}

// clients are the writer and the reader of a story.
type clients struct {
	writer *probe.Writer
	reader *probe.Answers
	stop   context.CancelFunc
}

// startClients starts a writer and a reader through the load balancer.
func (c *Cluster) startClients(ctx context.Context) (*clients, error) {
	ctx, stop := context.WithCancel(ctx)
	writer, err := probe.StartWriter(ctx, c.Config, c.r.Log)
	if err != nil {
		stop()
		return nil, err
	}
	reader, err := probe.StartReader(ctx, c.Config, c.r.Log)
	if err != nil {
		stop()
		return nil, err
	}
	return &clients{writer: writer, reader: reader, stop: stop}, nil
}

// finishWithin ends the clients, reads everything back, and records what they saw; no gap may be longer than limit.
func (c *clients) finishWithin(ctx context.Context, r *Run, limit time.Duration) error {
	write, read := c.writer.Figures(time.Now()), c.reader.Figures(time.Now())
	c.stop()
	r.result.clients(write.Longest, read.Longest)
	lost, acked, err := c.writer.Lost(ctx)
	if err != nil {
		return err
	}
	slices.Sort(lost)
	r.Check("writer", "no acknowledged write is lost", len(lost) == 0 && acked > 0, "%d acknowledged, %d lost %v, %d unanswered (%s)",
		acked, len(lost), lost, write.Failed, cmp.Or(shorten(write.LastError), "no error"))
	r.Check("reader", "was answered", read.Answered > 0, "%d answers, %d failures (%s)", read.Answered, read.Failed,
		cmp.Or(shorten(read.LastError), "no error"))
	r.Figure(
		timeline.AtMost("longest gap of the writer", write.Longest, limit),
		timeline.AtMost("longest gap of the reader", read.Longest, limit),
	)
	return nil
}
