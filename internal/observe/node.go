package observe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

// Names of the static pods RKE2 runs on a server, as in their label
// "component" and in model.Machine.Components.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Etcd              = "etcd"
)

// Components are the static pods a server of this control plane runs.
func Components(cp *controlplanev1.RKE2ControlPlane) []string {
	out := []string{APIServer, ControllerManager}
	if !slices.Contains(cp.Spec.ServerConfig.DisableComponents.KubernetesComponents, controlplanev1.DisableScheduler) {
		out = append(out, Scheduler)
	}
	if cp.Spec.ServerConfig.ExternalDatastoreSecret == nil {
		out = append(out, Etcd)
	}
	return out
}

func nodeFacts(s *scope.Scope, w workloadView, out *model.Machine) {
	out.Node = nodeFact(w, out.NodeName)
	out.Components = map[string]model.Fact[bool]{}
	for _, name := range Components(s.ControlPlane) {
		out.Components[name] = componentFact(w, out, name)
	}
}

func nodeFact(w workloadView, name string) model.Fact[model.Node] {
	if name == "" {
		return model.Unknown[model.Node]("no Node is known for the Machine yet", w.at)
	}
	if w.problem != "" {
		return model.Unknown[model.Node](w.problem, w.at)
	}
	node := w.nodes[name]
	if node == nil {
		return model.Known(model.Node{}, w.at)
	}
	n := model.Node{Exists: true, Ready: readyOf(node)}
	if c := readyCondition(node); c != nil {
		n.ReadySince = c.LastTransitionTime.Time
	}
	_, n.Excluded = node.Labels[corev1.LabelNodeExcludeBalancers]
	if n.Excluded {
		n.ExcludedAt = workload.AskedAt(node, workload.ExcludedAtAnnotation)
	}
	n.RemovalAsked, n.RemovalAskedAt = workload.RemovalAsked(node)
	n.MemberAnnotated = node.Annotations[controlplanev1.EtcdNodeNameAnnotation] != "" &&
		node.Annotations[controlplanev1.EtcdNodeAddressAnnotation] != ""
	n.RemovesMembers = isNamed(node, w.remover)
	return model.Known(n, w.at)
}

// isNamed tells whether a server calls itself by that name. RKE2's servers
// sign leases with their host name, which may differ from the Node's.
func isNamed(node *corev1.Node, name string) bool {
	if name == "" {
		return false
	}
	return node.Name == name || slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool {
		return a.Type == corev1.NodeHostName && a.Address == name
	})
}

// readyOf is No for a Node that does not exist, and unclear when its kubelet
// does not report.
func readyOf(node *corev1.Node) model.Tri {
	if node == nil {
		return model.No
	}
	c := readyCondition(node)
	if c == nil || c.Status == corev1.ConditionUnknown {
		return model.Unclear
	}
	return model.TriOf(c.Status == corev1.ConditionTrue)
}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// componentFact trusts a pod's Ready condition only while its kubelet
// reports: nobody else updates it.
func componentFact(w workloadView, m *model.Machine, component string) model.Fact[bool] {
	switch {
	case !m.Node.Known:
		return model.Unknown[bool](m.Node.Reason, w.at)
	case !m.Node.Value.Exists:
		return unhealthy("Node "+m.NodeName+" does not exist", w.at)
	case m.Node.Value.Ready == model.Unclear:
		return model.Unknown[bool]("the kubelet of Node "+m.NodeName+" does not report", w.at)
	case w.podsProblem != "":
		return model.Unknown[bool](w.podsProblem, w.at)
	}
	pod, ok := w.pods[m.NodeName][component]
	if !ok {
		return unhealthy(fmt.Sprintf("pod %s-%s does not exist", component, m.NodeName), w.at)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodReady {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			return model.Known(true, w.at)
		}
		return unhealthy(strings.TrimSpace(fmt.Sprintf("pod %s is not ready: %s %s", pod.Name, c.Reason, c.Message)), w.at)
	}
	return unhealthy(fmt.Sprintf("pod %s is starting", pod.Name), w.at)
}

// unhealthy is a known "no" that says why.
func unhealthy(why string, at time.Time) model.Fact[bool] {
	f := model.Known(false, at)
	f.Reason = why
	return f
}

func podsByNode(pods []corev1.Pod) map[string]map[string]*corev1.Pod {
	out := map[string]map[string]*corev1.Pod{}
	for i := range pods {
		node, component := pods[i].Spec.NodeName, pods[i].Labels["component"]
		if out[node] == nil {
			out[node] = map[string]*corev1.Pod{}
		}
		out[node][component] = &pods[i]
	}
	return out
}
