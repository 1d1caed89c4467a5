package story

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var singleServerReplace = Story{
	Name:    "single-server-replace",
	Purpose: "The only server of a cluster is upgraded by replacement: 1→2→1 servers, and what was written before is still there.",
	Short:   true,
	play:    playSingle,
}

func playSingle(ctx context.Context, r *Run) error {
	return r.replaceOnly(ctx, Spec{Name: "single"}, "The only server is replaced")
}

// replaceOnly creates a cluster with one server and upgrades it by replacement.
func (r *Run) replaceOnly(ctx context.Context, s Spec, title string) error {
	s.Servers, s.Version, s.MaxSurge, s.DrainSeconds = 1, versionOld, 1, 60
	c, err := r.Create(ctx, s, patience)
	if err != nil {
		return err
	}
	kept := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: namespace},
		Data:       map[string]string{"written": "before the upgrade"},
	}
	if err := c.Workload.Create(ctx, kept); err != nil {
		return fmt.Errorf("write before the upgrade: %w", err)
	}
	clients, err := c.startClients(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := c.upgrade(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	back := &corev1.ConfigMap{}
	if err := c.Workload.Get(ctx, client.ObjectKeyFromObject(kept), back); err != nil {
		return fmt.Errorf("read after the upgrade: %w", err)
	}
	r.Check("data", "written before is readable after", back.Data["written"] == kept.Data["written"], "%q", back.Data["written"])
	c.WaitNodesGone(ctx)
	if err := clients.finishWithin(ctx, r, scaleGapLimit); err != nil {
		return err
	}
	if err := c.CheckMembers(ctx); err != nil {
		return err
	}
	events := c.events(ctx)
	r.Add(leavingWithoutPods(events)...)
	most := timeline.MostServers(events)
	r.Check("control plane", "one replacement beside the old server", most == 2, "at most %d servers at once", most)
	r.Check("etcd", "leadership moved before the old member went", timeline.LeaderMovedFirst(events), "%s", timeline.LeadersText(events))
	r.Figure(timeline.AtMost("replacement of the only server", took, 3*time.Minute))
	r.drawPage(title, "writer", "reader")
	return nil
}
