package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/drover-project/drover/internal/model"
)

// course is what a Forecast tells about who is there when.
type course struct {
	voters    map[string]bool
	leaving   string
	joining   string
	most      int // Machines at once
	machines  int
	fewest    int // voters at once
	deletions int
}

// follow goes through the events and fails where two servers leave or join at
// the same time, or a member goes before its drain.
func follow(t *testing.T, s model.Snapshot, f *Forecast) course {
	t.Helper()
	c := course{voters: map[string]bool{}, machines: len(s.Machines), most: len(s.Machines), fewest: len(s.Machines)}
	for _, m := range s.Machines {
		c.voters[m.Name] = true
	}
	drained := map[string]bool{}
	for i, e := range f.Events {
		at := fmt.Sprintf("event %d, %s", i+1, e.Text)
		switch {
		case strings.HasPrefix(e.Text, "create a Machine"):
			c.machines++
			if c.joining != "" {
				t.Errorf("%s: %s has not joined yet", at, c.joining)
			}
			c.joining = e.Server
		case strings.HasPrefix(e.Text, "Node ") && strings.HasSuffix(e.Text, " registers"):
			c.joining = ""
		case strings.HasSuffix(e.Text, "becomes a voter"):
			c.voters[e.Server] = true
		case strings.HasPrefix(e.Text, "delete Machine"):
			c.deletions++
			if c.leaving != "" {
				t.Errorf("%s: %s has not left yet", at, c.leaving)
			}
			c.leaving = e.Server
		case strings.HasPrefix(e.Text, "core has drained"):
			drained[e.Server] = true
		case strings.HasPrefix(e.Text, "ask RKE2"), strings.HasPrefix(e.Text, "remove etcd member"):
			if !drained[e.Server] {
				t.Errorf("%s: it is not drained", at)
			}
			delete(c.voters, e.Server)
		case strings.HasSuffix(e.Text, "are gone"):
			c.machines--
			c.leaving = ""
		}
		c.most, c.fewest = max(c.most, c.machines), min(c.fewest, len(c.voters))
	}
	return c
}

// Rollouts of every size: one server leaves and one joins at a time, there is
// never more than the surge, and never a voter less than allowed.
func TestRolloutsOfEverySize(t *testing.T) {
	for n := 1; n <= MaxServers-1; n++ {
		for _, surge := range []int{0, 1} {
			if surge == 0 && n < 3 {
				continue // refused
			}
			t.Run(fmt.Sprintf("%d servers, maxSurge %d", n, surge), func(t *testing.T) {
				s := fleet(n, surge, true)
				f := foresee(t, s)
				c := follow(t, s, f)
				if !f.Settled || f.Totals.Replaced != n || c.deletions != n || c.machines != n || len(c.voters) != n {
					t.Errorf("%+v, in the end %d Machines and %d voters", f.Totals, c.machines, len(c.voters))
				}
				if c.most != n+surge || c.fewest != n-1+surge {
					t.Errorf("at most %d Machines, at least %d voters", c.most, c.fewest)
				}
			})
		}
	}
}

// From every size to every other, by way of even numbers too.
func TestScalingBetweenAllSizes(t *testing.T) {
	for from := 1; from <= MaxServers-1; from++ {
		for to := 1; to <= MaxServers-1; to++ {
			s := fleet(from, 1, false)
			s.ControlPlane.Replicas = to
			f := foresee(t, s)
			c := follow(t, s, f)
			if !f.Settled || c.machines != to || len(c.voters) != to || f.Totals.Created != max(0, to-from) || f.Totals.Deleted != max(0, from-to) {
				t.Errorf("from %d to %d: %+v, in the end %d Machines and %d voters", from, to, f.Totals, c.machines, len(c.voters))
			}
			if c.most != max(from, to) || c.fewest != min(from, to) {
				t.Errorf("from %d to %d: at most %d Machines, at least %d voters", from, to, c.most, c.fewest)
			}
		}
	}
}

// With an external datastore the same order holds, without members.
func TestExternalDatastoreOfEverySize(t *testing.T) {
	for n := 1; n <= MaxServers-1; n++ {
		s := fleet(n, 1, true)
		s.ControlPlane.ExternalDatastore = true
		s.Etcd.Members = model.Unknown[[]model.Member]("the control plane keeps no etcd members of its own", s.Now)
		f := foresee(t, s)
		if c := follow(t, s, f); !f.Settled || f.Totals != (Totals{Created: n, Deleted: n, Replaced: n}) || c.machines != n || c.most != n+1 {
			t.Errorf("%d servers: %+v, at most %d Machines, in the end %d", n, f.Totals, c.most, c.machines)
		}
		s.ControlPlane.Replicas = 1
		if f := foresee(t, s); !f.Settled || f.Totals.Deleted != n || f.Totals.Created != 1 {
			t.Errorf("from %d to 1 in a rollout: %+v", n, f.Totals)
		}
	}
}
