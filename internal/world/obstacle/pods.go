package obstacle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/scope"
)

// overdue is how much longer than its grace period a pod may take before its
// kubelet counts as the one that does not end it.
const overdue = 30 * time.Second

// pods are those that core waits for before the Node counts as drained, by the
// rules of core (core/reconcilers/machine/drain of Cluster API 1.14): neither
// of a DaemonSet, nor static, nor left out by label or MachineDrainRule.
func (f Finder) pods(ctx context.Context, s *scope.Scope, m model.Machine, now time.Time) ([]model.Obstacle, error) {
	pods, err := f.Workload.PodsOn(ctx, m.NodeName)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	rules := f.drainRules(ctx, s, s.Machines[m.Name])
	budgets := map[string][]policyv1.PodDisruptionBudget{}
	var out []model.Obstacle
	var failed error
	for i := range pods {
		pod := &pods[i]
		behavior := f.behavior(ctx, pod, rules)
		if behavior == clusterv1.MachineDrainRuleDrainBehaviorSkip {
			continue
		}
		if _, read := budgets[pod.Namespace]; !read && behavior == clusterv1.MachineDrainRuleDrainBehaviorDrain && pod.DeletionTimestamp.IsZero() {
			if budgets[pod.Namespace], err = f.Workload.DisruptionBudgets(ctx, pod.Namespace); err != nil {
				failed = err
			}
		}
		o := why(pod, behavior, budgets[pod.Namespace], now)
		o.Machine, o.Kind, o.Name = m.Name, "Pod", pod.Namespace+"/"+pod.Name
		out = append(out, o)
	}
	// What needs somebody stands first.
	slices.SortStableFunc(out, func(a, b model.Obstacle) int { return rank(a) - rank(b) })
	return out, failed
}

func rank(o model.Obstacle) int {
	if o.Stuck {
		return 0
	}
	return 1
}

// drainRules are the MachineDrainRules for the Machine, in the order in which
// core asks them. Without the permission to read them there are none.
func (f Finder) drainRules(ctx context.Context, s *scope.Scope, m *clusterv1.Machine) []clusterv1.MachineDrainRule {
	list := &clusterv1.MachineDrainRuleList{}
	if m == nil || f.Client.List(ctx, list, client.InNamespace(m.Namespace)) != nil {
		return nil
	}
	slices.SortFunc(list.Items, func(a, b clusterv1.MachineDrainRule) int { return strings.Compare(a.Name, b.Name) })
	return slices.DeleteFunc(list.Items, func(r clusterv1.MachineDrainRule) bool {
		return len(r.Spec.Machines) > 0 && !slices.ContainsFunc(r.Spec.Machines, func(sel clusterv1.MachineDrainRuleMachineSelector) bool {
			return matches(sel.Selector, m.Labels) && matches(sel.ClusterSelector, s.Cluster.Labels)
		})
	})
}

func matches(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(set))
}

// behavior is what core does with a pod.
func (f Finder) behavior(ctx context.Context, pod *corev1.Pod, rules []clusterv1.MachineDrainRule) clusterv1.MachineDrainRuleDrainBehavior {
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" && !finished {
		return clusterv1.MachineDrainRuleDrainBehaviorSkip
	}
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return clusterv1.MachineDrainRuleDrainBehaviorSkip
	}
	switch label := strings.ReplaceAll(pod.Labels[clusterv1.PodDrainLabel], "-", ""); {
	case strings.EqualFold(label, string(clusterv1.MachineDrainRuleDrainBehaviorSkip)):
		return clusterv1.MachineDrainRuleDrainBehaviorSkip
	case strings.EqualFold(label, string(clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted)):
		return clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted
	}
	for _, r := range rules {
		if len(r.Spec.Pods) == 0 || slices.ContainsFunc(r.Spec.Pods, func(sel clusterv1.MachineDrainRulePodSelector) bool { return f.selects(ctx, sel, pod) }) {
			return r.Spec.Drain.Behavior
		}
	}
	return clusterv1.MachineDrainRuleDrainBehaviorDrain
}

func (f Finder) selects(ctx context.Context, sel clusterv1.MachineDrainRulePodSelector, pod *corev1.Pod) bool {
	if !matches(sel.Selector, pod.Labels) {
		return false
	}
	if sel.NamespaceSelector == nil {
		return true
	}
	set, err := f.Workload.NamespaceLabels(ctx, pod.Namespace)
	return err == nil && matches(sel.NamespaceSelector, set)
}

// why says what keeps a pod on its Node.
func why(pod *corev1.Pod, behavior clusterv1.MachineDrainRuleDrainBehavior, budgets []policyv1.PodDisruptionBudget, now time.Time) model.Obstacle {
	switch {
	case !pod.DeletionTimestamp.IsZero():
		return ending(pod, now)
	case behavior == clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted:
		return model.Obstacle{
			Why: "is to complete by itself (" + clusterv1.PodDrainLabel + ": wait-completed, or a MachineDrainRule)", Since: pod.CreationTimestamp.Time,
			Unblock: "it ends when the pod has completed",
		}
	}
	var covering []policyv1.PodDisruptionBudget
	for _, b := range budgets {
		if b.Spec.Selector != nil && matches(b.Spec.Selector, pod.Labels) {
			covering = append(covering, b)
		}
	}
	if len(covering) > 1 {
		names := make([]string, 0, len(covering))
		for _, b := range covering {
			names = append(names, b.Name)
		}
		return model.Obstacle{
			Stuck: true, Why: "more than one PodDisruptionBudget covers it, and Kubernetes then evicts nothing: " + strings.Join(names, ", "),
			Unblock: "let one of them cover it",
		}
	}
	if len(covering) == 1 && forbids(&covering[0], pod) {
		b := covering[0]
		o := model.Obstacle{
			Stuck:   true,
			Why:     fmt.Sprintf("PodDisruptionBudget %s allows %d disruptions: %d pods are healthy, %d have to be", b.Name, b.Status.DisruptionsAllowed, b.Status.CurrentHealthy, b.Status.DesiredHealthy),
			Unblock: "let more of its pods become healthy, or change the budget",
		}
		for _, c := range b.Status.Conditions {
			if c.Type == policyv1.DisruptionAllowedCondition && c.Status == metav1.ConditionFalse {
				o.Since = c.LastTransitionTime.Time
			}
		}
		return o
	}
	return model.Obstacle{Why: "is about to be evicted", Unblock: "it ends by itself"}
}

// forbids tells whether the budget keeps the pod from being evicted, as the
// eviction API decides it.
func forbids(b *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	if b.Status.DisruptionsAllowed > 0 {
		return false
	}
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
	switch {
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodPending:
		return false
	case ready:
		return true
	case ptr.Deref(b.Spec.UnhealthyPodEvictionPolicy, policyv1.IfHealthyBudget) == policyv1.AlwaysAllow:
		return false
	default:
		return b.Status.DesiredHealthy <= 0 || b.Status.CurrentHealthy < b.Status.DesiredHealthy
	}
}

// ending is a pod that was deleted. Its deletionTimestamp is when it is to be
// gone, the grace period included.
func ending(pod *corev1.Pod, now time.Time) model.Obstacle {
	grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
	o := model.Obstacle{Since: pod.DeletionTimestamp.Add(-grace), Unblock: "it ends by itself"}
	switch {
	case len(pod.Finalizers) > 0:
		o.Stuck, o.Why = true, "is deleted and held by finalizer "+strings.Join(pod.Finalizers, ", ")
		o.Unblock = "it ends when whoever put it there takes it off"
	case now.Sub(pod.DeletionTimestamp.Time) > overdue:
		o.Stuck, o.Why = true, fmt.Sprintf("should have ended within %s and has not: its kubelet does not end it", grace)
		o.Unblock = "look at the kubelet of the Node, or delete the pod with --grace-period=0 --force if its host is gone"
	default:
		o.Why = fmt.Sprintf("ends within its grace period of %s", grace)
	}
	return o
}
