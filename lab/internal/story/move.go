package story

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/clusterctl"
	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	// moveTimeout bounds the run of clusterctl; alone it takes some ten seconds.
	moveTimeout = 5 * time.Minute
	// settleLimit is how long it may take until all controllers have said what they know of a complete cluster.
	settleLimit = 2 * time.Minute
	// rebuildLimit is how long it may take until the status of all objects is what it was before the move.
	rebuildLimit = 2 * time.Minute
	// quietTime is how long nothing may be replaced after that.
	quietTime = time.Minute
	// secondPlane is the name of the management cluster to which the cluster is moved.
	secondPlane = "second"
)

var moveCluster = Story{
	Name: "move",
	Purpose: "A cluster is moved to another management cluster by clusterctl while clients write: no machine notices, " +
		"and an upgrade there is as safe as it was here.",
	// Two management clusters fill two cores.
	Alone: true,
	play:  playMove,
}

func playMove(ctx context.Context, r *Run) error {
	c, err := r.Create(ctx, Spec{Name: "moved", Servers: 3, Workers: 1, Version: versionOld, MaxSurge: 1, DrainSeconds: 300}, patience)
	if err != nil {
		return err
	}
	if err := c.RunSlowPods(ctx, c.Spec.Servers); err != nil {
		return err
	}
	target, err := r.addManagement(ctx)
	if err != nil {
		return err
	}
	clients, err := c.startClients(ctx)
	if err != nil {
		return err
	}
	if err := r.WaitFor(ctx, "every condition to be known", settleLimit, c.settled); err != nil {
		return err
	}
	before, err := c.picture(ctx)
	if err != nil {
		return err
	}
	if err := c.moveTo(ctx, target); err != nil {
		return err
	}
	if err := c.judgeMove(ctx, before); err != nil {
		return err
	}
	gaps := clients.writer.Figures(time.Now())
	r.Figure(timeline.AtMost("longest gap of the writer during the move", gaps.Longest, shared.gap))
	if err := c.safeUpgrade(ctx, clients, shared); err != nil {
		return err
	}
	r.drawPage("Moved to another management cluster, and upgraded there", "writer", "reader")
	return nil
}

// addManagement starts the second management cluster and lets clusterctl know both.
func (r *Run) addManagement(ctx context.Context) (client.WithWatch, error) {
	r.Note("starting a second management cluster")
	config, err := r.Lab.AddManagement(ctx, secondPlane)
	if err != nil {
		return nil, fmt.Errorf("start management cluster %s: %w", secondPlane, err)
	}
	target, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("client of management cluster %s: %w", secondPlane, err)
	}
	if err := clusterctl.Register(ctx, r.Lab.Management(), clusterctl.InLab()); err != nil {
		return nil, err
	}
	if err := clusterctl.Register(ctx, config, clusterctl.InLab()); err != nil {
		return nil, err
	}
	return target, nil
}

// moveTo moves the cluster and goes on with it there.
func (c *Cluster) moveTo(ctx context.Context, target client.WithWatch) error {
	r := c.r
	// What follows the machines here would take the move for their end.
	c.unfollow()
	r.Note("clusterctl moves the cluster to the second management cluster")
	began := time.Now()
	if err := r.clusterctlMove(ctx); err != nil {
		return err
	}
	r.Note("moved after %s", time.Since(began).Round(time.Second))
	c.source, r.Management = r.Management, target
	return nil
}

// clusterctlMove runs the real `clusterctl move`; its words become progress and stay in a log.
func (r *Run) clusterctlMove(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	var kubeconfigs []string
	for _, name := range []string{"", secondPlane} {
		path, err := r.Lab.LocalManagementKubeconfig(ctx, name)
		if err != nil {
			return err
		}
		kubeconfigs = append(kubeconfigs, path)
	}
	tool, err := clusterctl.Beside(filepath.Join(r.dir, "clusterctl"))
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(r.dir, "logs", "clusterctl.log"))
	if err != nil {
		return fmt.Errorf("make log of clusterctl: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	words, end := r.speaker("clusterctl")
	err = tool.Run(ctx, io.MultiWriter(log, words), clusterctl.Config{}, "move", "--namespace="+namespace,
		"--kubeconfig="+kubeconfigs[0], "--to-kubeconfig="+kubeconfigs[1])
	end()
	if err != nil {
		return fmt.Errorf("%w; its words are in logs/clusterctl.log", err)
	}
	return nil
}

// speaker returns a writer whose lines become progress of somebody, and what ends it.
func (r *Run) speaker(who string) (words io.Writer, end func()) {
	read, write := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			if text := strings.TrimSpace(lines.Text()); text != "" {
				r.say(shorten(who + ": " + text))
			}
		}
		// A line that is too long must not hold up its writer.
		_, _ = io.Copy(io.Discard, read)
	}()
	return write, func() {
		_ = write.Close()
		<-done
	}
}
