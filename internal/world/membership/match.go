package membership

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/drover-project/drover/internal/world/etcd"
)

// Server is what is known of one server, to tell which member is its own.
type Server struct {
	// Machine is the name of the control-plane Machine, empty for a Node
	// without one.
	Machine string
	// Node is the name of the Node, empty as long as it is not known.
	Node string
	// MemberName is what RKE2 recorded on the Node as the name of its
	// member, empty if nothing.
	MemberName string
	// Addresses are those of the Machine and the Node.
	Addresses []string
	// Gone is true for a Node that is being deleted and has no Machine: its
	// host is not asked for anything.
	Gone bool
	// Doomed is true when nothing holds core back from destroying the host:
	// the Machine is being deleted, and our pre-terminate hook is off.
	Doomed bool
}

// Match tells for each member ID which server it belongs to, as an index into
// servers. Answered are the members that were asked through a node and told
// their ID: nothing is surer than that. After it come, in this order, the
// name RKE2 recorded on the Node, the node name that is part of the member
// name, and the peer address. A server that is claimed by a surer way is not
// claimed again by a weaker one. A member without an entry belongs to none.
func Match(members []etcd.Member, servers []Server, answered map[uint64]string) map[uint64]int {
	m := matcher{members: members, servers: servers, result: map[uint64]int{}}
	m.round(func(member etcd.Member, s Server) bool {
		node, ok := answered[member.ID]
		return ok && node == s.Node
	})
	m.round(func(member etcd.Member, s Server) bool {
		return member.Name != "" && member.Name == s.MemberName
	})
	m.round(func(member etcd.Member, s Server) bool {
		return s.Node != "" && nodeNameIn(member.Name) == s.Node && samePeer(member, s)
	})
	m.round(func(member etcd.Member, s Server) bool {
		return s.Node != "" && nodeNameIn(member.Name) == s.Node
	})
	m.round(samePeer)
	return m.result
}

type matcher struct {
	members []etcd.Member
	servers []Server
	result  map[uint64]int
}

// round assigns members that have no server yet to servers that have no
// member from a former round. Two members may claim one server in the same
// round: neither is then taken for an orphan.
func (m *matcher) round(same func(etcd.Member, Server) bool) {
	taken := map[int]bool{}
	for _, i := range m.result {
		taken[i] = true
	}
	for _, member := range m.members {
		if _, done := m.result[member.ID]; done {
			continue
		}
		for i, s := range m.servers {
			if !taken[i] && same(member, s) {
				m.result[member.ID] = i
				break
			}
		}
	}
}

// nodeNameIn cuts RKE2's suffix, a hyphen and eight hex digits, off a member
// name. Node names hold hyphens themselves, so the last one counts. The
// result is empty when there is no such suffix.
func nodeNameIn(member string) string {
	cut := strings.LastIndexByte(member, '-')
	if cut <= 0 {
		return ""
	}
	suffix := member[cut+1:]
	if len(suffix) != 8 || strings.Trim(suffix, "0123456789abcdef") != "" {
		return ""
	}
	return member[:cut]
}

// samePeer tells whether the member is reached at one of the server's
// addresses.
func samePeer(member etcd.Member, s Server) bool {
	for _, peer := range member.PeerURLs {
		u, err := url.Parse(peer)
		if err != nil || u.Hostname() == "" {
			continue
		}
		if slices.ContainsFunc(s.Addresses, func(a string) bool { return sameHost(a, u.Hostname()) }) {
			return true
		}
	}
	return false
}

// sameHost compares addresses by value, so that the ways to write an IPv6
// address do not matter, and names without regard to case.
func sameHost(a, b string) bool {
	left, errLeft := netip.ParseAddr(a)
	right, errRight := netip.ParseAddr(b)
	if errLeft == nil && errRight == nil {
		return left.Unmap() == right.Unmap()
	}
	return a != "" && strings.EqualFold(a, b)
}
