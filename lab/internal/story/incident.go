package story

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/balancer"
	"github.com/drover-project/drover/lab/internal/probe"
	"github.com/drover-project/drover/lab/internal/timeline"
)

// An incident is a cluster under clients in which something breaks. What breaks is the story's own file; what all of them
// have in common is here.

// gapPromise is the longest silence of a client where the quorum and its leader stay.
const gapPromise = 5 * time.Second

// What RKE2 puts on the Node of a server that has joined; of members only where it has one.
const (
	nodeFinalizer    = "wrangler.cattle.io/node"
	memberAnnotation = "etcd.rke2.cattle.io/node-name"
	memberFinalizer  = "wrangler.cattle.io/managed-etcd-controller"
)

// incident is a cluster with clients, in which something is about to break.
type incident struct {
	*Cluster
	clients *clients
	began   time.Time
	// hurt are the Machines that cannot leave in order, with the checks that they cannot pass.
	hurt map[string][]string
	// silenced are the Nodes whose hosts lost their power while they had a member.
	silenced []string
	// excused are the stretches in which the clients cannot be served, whatever the control plane does.
	excused []timeline.Stretch
}

// deadHost are the checks that a server fails whose host or node was taken away: nothing of it can be awaited.
var deadHost = []string{timeline.RuleExcluded, timeline.RulePodsFirst, timeline.RuleNodeReady, timeline.RuleFreshLease}

// incident makes a cluster, with pods that need some seconds to stop on its servers (none for 0), and starts clients.
func (r *Run) incident(ctx context.Context, s Spec, podSeconds int) (*incident, error) {
	c, err := r.Create(ctx, s, patience)
	if err != nil {
		return nil, err
	}
	if err := r.WaitFor(ctx, "RKE2 to have settled on every Node", settleLimit, c.rke2Settled); err != nil {
		return nil, err
	}
	if podSeconds > 0 {
		if err := c.runPods(ctx, s.Servers, podSeconds); err != nil {
			return nil, err
		}
	}
	clients, err := c.startClients(ctx)
	if err != nil {
		return nil, err
	}
	return &incident{Cluster: c, clients: clients, began: time.Now(), hurt: map[string][]string{}}, nil
}

// rke2Settled tells whether RKE2 has put its annotations and finalizers on every Node. A Node is Ready before that.
func (c *Cluster) rke2Settled(ctx context.Context) (bool, string, error) {
	nodes := &corev1.NodeList{}
	if err := c.Workload.List(ctx, nodes); err != nil {
		return false, "", err
	}
	var rest []string
	for _, n := range nodes.Items {
		if !c.settledOn(&n) {
			rest = append(rest, n.Name)
		}
	}
	return len(rest) == 0, "not yet on " + strings.Join(rest, ", "), nil
}

func (c *Cluster) settledOn(n *corev1.Node) bool {
	if c.Spec.Datastore != "" {
		return slices.Contains(n.Finalizers, nodeFinalizer)
	}
	return n.Annotations[memberAnnotation] != "" && slices.Contains(n.Finalizers, memberFinalizer)
}

// follower returns a server with its Node whose member does not lead: without its leader, etcd cannot write for an
// election, 5 to 10 s with RKE2's timing, and no control plane can change that.
func (c *Cluster) follower(ctx context.Context) (*clusterv1.Machine, error) {
	return c.serverThat(ctx, "follows", func(m probe.Member) bool { return !m.Leader })
}

// leader returns the server whose member leads.
func (c *Cluster) leader(ctx context.Context) (*clusterv1.Machine, error) {
	return c.serverThat(ctx, "leads", func(m probe.Member) bool { return m.Leader })
}

// serverThat returns a server with a Node whose member is a voter of some kind.
func (c *Cluster) serverThat(ctx context.Context, does string, is func(probe.Member) bool) (*clusterv1.Machine, error) {
	machines, err := c.servers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list servers: %w", err)
	}
	members, _ := c.Members.Current()
	for i := range machines {
		node := machines[i].Status.NodeRef.Name
		for _, m := range members {
			if node != "" && m.Node == node && !m.Learner && is(m) {
				return &machines[i], nil
			}
		}
	}
	return nil, fmt.Errorf("no server of %s %s", c.Spec.Name, does)
}

// deleteMachine is what a user does with kubectl.
func (c *Cluster) deleteMachine(ctx context.Context, m *clusterv1.Machine) error {
	c.r.Note("deleting Machine %s", m.Name)
	if err := c.r.Management.Delete(ctx, m); err != nil {
		return fmt.Errorf("delete machine %s: %w", m.Name, err)
	}
	return nil
}

// drainingIncident is an incident of three servers, one of which core drains: a follower that was deleted, with pods that
// need some seconds to stop.
func (r *Run) drainingIncident(ctx context.Context, name string, podSeconds int) (*incident, *clusterv1.Machine, error) {
	i, err := r.incident(ctx, Spec{Name: name, Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 60}, podSeconds)
	if err != nil {
		return nil, nil, err
	}
	victim, err := i.follower(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := i.deleteMachine(ctx, victim); err != nil {
		return nil, nil, err
	}
	return i, victim, i.waitDraining(ctx, victim)
}

// waitEvent waits until the run's log has an event.
func (r *Run) waitEvent(ctx context.Context, what string, limit time.Duration, is func(timeline.Event) bool) error {
	return r.WaitFor(ctx, what, limit, func(context.Context) (bool, string, error) {
		return slices.ContainsFunc(r.Log.Events(), is), "not yet", nil
	})
}

// waitDraining waits until core drains the Machine's Node and a pod of it has been told to stop.
func (c *Cluster) waitDraining(ctx context.Context, m *clusterv1.Machine) error {
	return c.r.waitEvent(ctx, "a pod of "+m.Name+" to be evicted", patience, func(e timeline.Event) bool {
		return e.Kind == timeline.PodTerminating && e.Node == m.Status.NodeRef.Name
	})
}

// end waits until the cluster is whole again, and holds the run to what each incident promises.
func (i *incident) end(ctx context.Context, version string, limit time.Duration) error {
	r := i.r
	if err := i.WaitComplete(ctx, i.Spec.Servers, version, patience); err != nil {
		r.Add(i.leaving(i.events(ctx))...)
		i.drawPage()
		return err
	}
	took := time.Since(i.began)
	i.WaitNodesGone(ctx)
	if err := i.finishClients(ctx); err != nil {
		return err
	}
	if err := i.CheckMembers(ctx); err != nil {
		return err
	}
	i.checkVoters(ctx)
	r.Add(i.leaving(i.events(ctx))...)
	r.Figure(timeline.AtMost("from the first change to a whole cluster", took, limit))
	i.drawPage()
	return nil
}

func (i *incident) drawPage() { i.r.drawPage(i.Spec.Name, "writer", "reader") }

// leaving are the checks of the servers that left, but for those that a hurt one cannot pass.
func (i *incident) leaving(events []timeline.Event) []timeline.Finding {
	ran := slices.ContainsFunc(events, func(e timeline.Event) bool { return e.Kind == timeline.PodRunning })
	return slices.DeleteFunc(timeline.CheckLeaving(events), func(f timeline.Finding) bool {
		return slices.Contains(i.hurt[f.Subject], f.Rule) || !ran && f.Rule == timeline.RulePodsFirst
	})
}

// excuseDetection excuses the clients for as long as the load balancer needs to find out that an API server has lost its
// etcd without warning, some time between began and now: such a one goes on taking connections and answers nothing.
func (i *incident) excuseDetection(began time.Time) {
	i.excused = append(i.excused, timeline.Stretch{From: began, To: time.Now().Add(balancer.DefaultTiming.Detection())})
}

// peerStop is how long etcd may stand still when it takes a member off the list whose host vanished without a word: while
// it applies that, the leader ends its two streams to the member one after the other (peer.stop in rafthttp of etcd 3.6),
// and a write that is stuck in one lasts until its time-out of 5 s. The leader's log dates it, from "stopping remote
// peer" to "stopped remote peer".
const peerStop = 10 * time.Second

// excuseRemovals excuses the clients for the removals of members whose hosts had lost their power, from the moment at
// which etcd's own log says that the member is off the list.
func (i *incident) excuseRemovals() {
	for _, e := range i.r.Log.Events() {
		if e.Kind == timeline.MemberRemoved && slices.Contains(i.silenced, e.Node) {
			i.excused = append(i.excused, timeline.Stretch{From: e.At, To: e.At.Add(peerStop)})
			return
		}
	}
}

// finishClients ends the clients and records what they saw, without the stretches in which they are excused.
func (i *incident) finishClients(ctx context.Context) error {
	i.excuseRemovals()
	if len(i.excused) == 0 {
		return i.clients.finishWithin(ctx, i.r, gapPromise)
	}
	var whole time.Duration
	for _, s := range i.excused {
		whole += s.To.Sub(s.From)
	}
	if err := i.clients.finishWithin(ctx, i.r, whole+gapPromise); err != nil {
		return err
	}
	events := i.r.Log.Events()
	for _, client := range []string{"writer", "reader"} {
		i.r.Figure(timeline.AtMost("longest gap of the "+client+" beyond what is excused", timeline.LongestGap(events, client, i.excused...), gapPromise))
	}
	return nil
}

// annotate writes an annotation in the management cluster; a nil value takes it away.
func (c *Cluster) annotate(ctx context.Context, o client.Object, key string, value any) error {
	text := "null"
	if value != nil {
		text = fmt.Sprintf("%q", value)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, text)))
	if err := c.r.Management.Patch(ctx, o, patch); err != nil {
		return fmt.Errorf("annotate %s: %w", o.GetName(), err)
	}
	return nil
}
