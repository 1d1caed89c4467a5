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

	"github.com/drover-project/drover/lab/internal/reversed"
	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	// lostLimit is how long it may take until a node without its etcd member is reported as lost: the kubelet's last
	// report, 50 s of grace (kube-controller-manager's default) and some slack.
	lostLimit = 2 * time.Minute
	// keepHook keeps the machine of the removed server, after CAPI's drain, so that it can be looked into.
	keepHook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/lab-keep"
)

var foundingBugControl = Story{
	Name: "founding-bug-control",
	Purpose: "The same cluster with the order reversed by a program of the laboratory: the pod hangs, the node is lost, " +
		"and the checks of founding-bug say so.",
	play: playFoundingControl,
}

func playFoundingControl(ctx context.Context, r *Run) error {
	c, err := r.Create(ctx, foundingSpec(), patience)
	if err != nil {
		return err
	}
	if err := c.RunSlowPods(ctx, c.Spec.Servers); err != nil {
		return err
	}
	victim, err := c.slowServer(ctx)
	if err != nil {
		return err
	}
	r.Note("ending the provider under test; from here on the order is reversed")
	if err := r.Lab.StopProvider(ctx); err != nil {
		return fmt.Errorf("end the provider under test: %w", err)
	}
	before := victim.DeepCopy()
	victim.Annotations[keepHook] = "story"
	if err := r.Management.Patch(ctx, victim, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("keep machine %s: %w", victim.Name, err)
	}
	removal := reversed.Removal{
		Management: r.Management, Etcd: c.Etcd, Addresses: c.Machines.Addresses(), Machine: victim, Hooks: providerHooks(victim),
		Say: func(text string) { r.Note("%s", text) },
	}
	if err := removal.MemberFirst(ctx); err != nil {
		return err
	}
	return c.judgeReversed(ctx, victim, time.Now())
}

// slowServer returns a server that carries a slow pod.
func (c *Cluster) slowServer(ctx context.Context) (*clusterv1.Machine, error) {
	machines, err := c.servers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list servers: %w", err)
	}
	pods := &corev1.PodList{}
	if err := c.Workload.List(ctx, pods, client.InNamespace(namespace), slowLabels); err != nil {
		return nil, fmt.Errorf("list slow pods: %w", err)
	}
	for i := range machines {
		node := machines[i].Status.NodeRef.Name
		if slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Spec.NodeName == node }) {
			return &machines[i], nil
		}
	}
	return nil, fmt.Errorf("no server of %s carries a slow pod", c.Spec.Name)
}

// providerHooks are the deletion hooks on a machine that belong to the provider under test.
func providerHooks(m *clusterv1.Machine) []string {
	var out []string
	for key := range m.Annotations {
		if strings.Contains(key, ".delete.hook.machine.cluster.x-k8s.io/") && key != keepHook {
			out = append(out, key)
		}
	}
	return out
}

// judgeReversed records the harm that was done, and that the checks of founding-bug report it.
func (c *Cluster) judgeReversed(ctx context.Context, victim *clusterv1.Machine, removed time.Time) error {
	r, node := c.r, victim.Status.NodeRef.Name
	pods := &corev1.PodList{}
	err := r.WaitFor(ctx, "Node "+node+" to be lost", lostLimit, func(ctx context.Context) (bool, string, error) {
		n := &corev1.Node{}
		if err := c.Workload.Get(ctx, client.ObjectKey{Name: node}, n); err != nil {
			return false, "", err
		}
		for _, cond := range n.Status.Conditions {
			if cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue {
				return true, "", c.Workload.List(ctx, pods, client.InNamespace(namespace), slowLabels, client.MatchingFields{"spec.nodeName": node})
			}
		}
		return false, "Node is ready", nil
	})
	lostAfter := time.Since(removed)
	r.Check(node, "the node is lost", err == nil, "after %s", lostAfter.Round(time.Second))
	if err != nil {
		return err
	}
	stuck := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil })
	r.Check(node, "its pod is stuck Terminating", len(stuck) == 1, "%s", stuckText(stuck))
	c.checkNeverSignalled(ctx, victim)
	bad := timeline.Violations(timeline.CheckLeaving(c.events(ctx)))
	var rules []string
	for _, f := range bad {
		rules = append(rules, f.Rule)
	}
	r.Check("the checks", "founding-bug's checks report the reversed order", slices.Contains(rules, timeline.RulePodsFirst),
		"violations: %s", strings.Join(rules, "; "))
	r.Figure(timeline.AtMost("member removed to node lost", lostAfter, lostLimit))
	r.drawPage("The order reversed: the member goes before the drain")
	return nil
}

func stuckText(pods []corev1.Pod) string {
	if len(pods) == 0 {
		return "no pod of the node is Terminating"
	}
	var parts []string
	for _, p := range pods {
		parts = append(parts, fmt.Sprintf("%s phase %s, deleted at %s", p.Name, p.Status.Phase, p.DeletionTimestamp.Format("15:04:05")))
	}
	return strings.Join(parts, ", ")
}

// checkNeverSignalled reads the pod's own output inside the machine: it prints a line when SIGTERM arrives.
func (c *Cluster) checkNeverSignalled(ctx context.Context, victim *clusterv1.Machine) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	out, code, err := c.r.Lab.Exec(ctx, victim.Name, "/bin/sh", "-c", "cat /var/log/pods/"+namespace+"_slow-*/slow/*.log")
	switch {
	case err != nil:
		c.r.Check(victim.Name, "its process never got SIGTERM", false, "cannot look into the machine: %v", err)
	case code != 0:
		c.r.Check(victim.Name, "its process never got SIGTERM", false, "cannot read the pod's output: %s", oneLine(out))
	default:
		c.r.Check(victim.Name, "its process never got SIGTERM", !strings.Contains(out, termMark) && strings.Contains(out, "up"), "it printed %q", oneLine(out))
	}
}
