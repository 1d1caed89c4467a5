package membership

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drover-project/drover/internal/world/etcd"
)

func TestMatch(t *testing.T) {
	member := func(id uint64, name, peer string) etcd.Member {
		m := etcd.Member{ID: id, Name: name}
		if peer != "" {
			m.PeerURLs = []string{peer}
		}
		return m
	}
	tests := map[string]struct {
		members  []etcd.Member
		servers  []Server
		answered map[uint64]string
		want     map[uint64]int
	}{
		"by the name on the Node": {
			members: []etcd.Member{member(1, "cp-1-0a1b2c3d", ""), member(2, "cp-2-0a1b2c3d", "")},
			servers: []Server{{Node: "b", MemberName: "cp-2-0a1b2c3d"}, {Node: "a", MemberName: "cp-1-0a1b2c3d"}},
			want:    map[uint64]int{1: 1, 2: 0},
		},
		"by the node name inside the member name, also when one is the start of another": {
			members: []etcd.Member{member(1, "cp-1-0a1b2c3d", ""), member(10, "cp-10-0a1b2c3d", "")},
			servers: []Server{{Node: "cp-10"}, {Node: "cp-1"}, {Node: "cp"}},
			want:    map[uint64]int{1: 1, 10: 0},
		},
		"dotted node names": {
			members: []etcd.Member{member(1, "cp-1.example.org-0a1b2c3d", "")},
			servers: []Server{{Node: "cp-1"}, {Node: "cp-1.example.org"}},
			want:    map[uint64]int{1: 1},
		},
		"a node name that looks as if it had the suffix already": {
			members: []etcd.Member{member(1, "cp-deadbeef-0a1b2c3d", "")},
			servers: []Server{{Node: "cp"}, {Node: "cp-deadbeef"}},
			want:    map[uint64]int{1: 1},
		},
		"no suffix, no match": {
			members: []etcd.Member{member(1, "cp-1", ""), member(2, "cp-1-xyz", ""), member(3, "-0a1b2c3d", "")},
			servers: []Server{{Node: "cp-1"}, {Node: "cp"}, {Node: ""}},
			want:    map[uint64]int{},
		},
		"an empty member name matches no empty node name": {
			members: []etcd.Member{member(1, "", "")},
			servers: []Server{{Machine: "new"}},
			want:    map[uint64]int{},
		},
		"an unnamed learner by its peer address": {
			members: []etcd.Member{member(1, "", "https://10.0.0.7:2380")},
			servers: []Server{{Machine: "a", Addresses: []string{"10.0.0.70"}}, {Machine: "b", Addresses: []string{"10.0.0.7"}}},
			want:    map[uint64]int{1: 1},
		},
		"IPv6 by value": {
			members: []etcd.Member{member(1, "", "https://[fd00::1]:2380")},
			servers: []Server{{Machine: "a", Addresses: []string{"fd00:0:0:0:0:0:0:1"}}},
			want:    map[uint64]int{1: 0},
		},
		"a leaked member of a name that is in use again is an orphan": {
			members: []etcd.Member{member(1, "cp-1-aaaaaaaa", "https://10.0.0.1:2380"), member(2, "cp-1-bbbbbbbb", "https://10.0.0.2:2380")},
			servers: []Server{{Node: "cp-1", MemberName: "cp-1-bbbbbbbb", Addresses: []string{"10.0.0.2"}}},
			want:    map[uint64]int{2: 0},
		},
		"the address decides between two members of one node name": {
			members: []etcd.Member{member(1, "cp-1-aaaaaaaa", "https://10.0.0.1:2380"), member(2, "cp-1-bbbbbbbb", "https://10.0.0.2:2380")},
			servers: []Server{{Node: "cp-1", Addresses: []string{"10.0.0.2"}}},
			want:    map[uint64]int{2: 0},
		},
		"when nothing decides, neither is an orphan": {
			members: []etcd.Member{member(1, "cp-1-aaaaaaaa", ""), member(2, "cp-1-bbbbbbbb", "")},
			servers: []Server{{Node: "cp-1"}},
			want:    map[uint64]int{1: 0, 2: 0},
		},
		"the member's own answer wins over a stale name on the Node": {
			members:  []etcd.Member{member(1, "cp-1-aaaaaaaa", ""), member(2, "cp-1-bbbbbbbb", "")},
			servers:  []Server{{Node: "cp-1", MemberName: "cp-1-aaaaaaaa"}},
			answered: map[uint64]string{2: "cp-1"},
			want:     map[uint64]int{2: 0},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Match(tt.members, tt.servers, tt.answered)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
