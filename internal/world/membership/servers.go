package membership

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// Servers are all servers that may run an etcd member: the Machines, and the
// Nodes that no Machine stands for. The order is stable.
func Servers(machines collections.Machines, nodes map[string]*corev1.Node) []Server {
	var out []Server
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		m := machines[name]
		_, held := m.Annotations[controlplanev1.PreTerminateHookCleanupAnnotation]
		server := Server{Machine: name, Doomed: !m.DeletionTimestamp.IsZero() && !held}
		for _, a := range m.Status.Addresses {
			server.Addresses = append(server.Addresses, a.Address)
		}
		if node := NodeOf(m, nodes); node != nil {
			server.describe(node)
			taken[node.Name] = true
		}
		out = append(out, server)
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if !taken[name] {
			// Without a Machine, a Node that is being deleted is the trace of
			// a host that is gone. RKE2's finalizers may keep it for a while.
			server := Server{Gone: !nodes[name].DeletionTimestamp.IsZero()}
			server.describe(nodes[name])
			out = append(out, server)
		}
	}
	return out
}

// NodeOf is the Node of a Machine among those given, nil when there is none. It
// goes by core's reference or, as long as core has not set it, by the provider
// ID, which is how core finds it too.
func NodeOf(m *clusterv1.Machine, nodes map[string]*corev1.Node) *corev1.Node {
	if m.Status.NodeRef.IsDefined() {
		return nodes[m.Status.NodeRef.Name]
	}
	if m.Spec.ProviderID == "" {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if nodes[name].Spec.ProviderID == m.Spec.ProviderID {
			return nodes[name]
		}
	}
	return nil
}

func (s *Server) describe(node *corev1.Node) {
	s.Node = node.Name
	s.MemberName = node.Annotations[controlplanev1.EtcdNodeNameAnnotation]
	for _, a := range node.Status.Addresses {
		s.Addresses = append(s.Addresses, a.Address)
	}
}
