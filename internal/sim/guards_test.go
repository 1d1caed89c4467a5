package sim

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/drover-project/drover/internal/quorum"
)

// anyWorld draws a World whose servers are in any state at all.
func anyWorld(t *rapid.T) World {
	w := World{Initialized: true, Replicas: 3, Surge: 1}
	for i := range rapid.IntRange(1, 6).Draw(t, "servers") {
		s := Server(rapid.Uint32().Draw(t, "server"))
		s.setMachine(min(s.Machine(), Deleting))
		s.setPhase(min(s.Phase(), DeletingNode))
		s.setHost(min(s.Host(), Gone))
		s.setExcluded(min(s.Excluded(), Settled))
		s.setUnmatched(min(s.Unmatched(), PastJoinWindow))
		w.Servers[i] = s
	}
	w.settle()
	return w
}

// The explorer counts votes by itself, since it does so millions of times. It
// must count as the product does.
func TestVotesAreCountedAsInTheProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		v := look(&w)
		v.EtcdUnknown = false
		names := namings.forward
		members := v.Snapshot(&names).Etcd.Members.Value
		for i, s := range v.Servers {
			if !s.server().listed() {
				continue
			}
			id := uint64(names.ID[i] + 1)
			if got, want := v.removable(i), quorum.AfterRemoval(members, id).OK; got != want {
				t.Fatalf("removable %v, AfterRemoval %v: %+v", got, want, members)
			}
			if got, want := v.losable(i), quorum.AfterLoss(members, id).OK; got != want {
				t.Fatalf("losable %v, AfterLoss %v: %+v", got, want, members)
			}
		}
		if got, want := v.canLoseOneMore(), quorum.AfterJoinAndLoss(members).OK; got != want {
			t.Fatalf("canLoseOneMore %v, AfterJoinAndLoss %v: %+v", got, want, members)
		}
	})
}

// A World comes back from its packed form as it was.
func TestPacking(t *testing.T) {
	p := packing{servers: MaxServers}
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		w.Direct = rapid.Bool().Draw(t, "direct")
		w.Silent, w.WholeDeleted = rapid.Bool().Draw(t, "silent"), rapid.Bool().Draw(t, "whole")
		for i := range w.Left {
			w.Left[i] = uint8(rapid.IntRange(0, MostOfAFault).Draw(t, "left"))
		}
		if got := p.unpack(p.pack(nil, &w)); got != w {
			t.Fatalf("%+v came back as %+v", w, got)
		}
	})
}

// Settling twice is settling once: the canonical form does not depend on how a
// World was reached.
func TestSettlingIsFinal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		again := w
		again.settle()
		if again != w {
			t.Fatalf("%+v settles to %+v", w, again)
		}
	})
}
