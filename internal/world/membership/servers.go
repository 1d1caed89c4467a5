package membership

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
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
		server := Server{Machine: name}
		for _, a := range m.Status.Addresses {
			server.Addresses = append(server.Addresses, a.Address)
		}
		if node, ok := nodes[m.Status.NodeRef.Name]; ok {
			server.describe(node)
			taken[node.Name] = true
		}
		out = append(out, server)
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if !taken[name] {
			server := Server{}
			server.describe(nodes[name])
			out = append(out, server)
		}
	}
	return out
}

func (s *Server) describe(node *corev1.Node) {
	s.Node = node.Name
	s.MemberName = node.Annotations[controlplanev1.EtcdNodeNameAnnotation]
	for _, a := range node.Status.Addresses {
		s.Addresses = append(s.Addresses, a.Address)
	}
}
