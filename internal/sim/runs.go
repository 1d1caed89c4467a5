package sim

import "fmt"

// Run is a row of the README's table: one or more explorations of one control
// plane.
type Run struct {
	// Name is the control plane, Failures what goes wrong in it.
	Name, Failures string
	Explorations   []Options
}

// Runs are the explorations that `make explore` makes: what a computer with two
// cores walks in half an hour.
func Runs() []Run {
	var out []Run
	for _, r := range []struct {
		servers, surge  int
		deaths, deletes uint8
	}{
		{1, 1, 2, 2}, {2, 1, 2, 2}, {3, 0, 2, 2}, {3, 1, 2, 2}, {5, 0, 2, 3}, {5, 1, 2, 3},
	} {
		o := Options{Servers: r.servers, Surge: r.surge, Stale: true, Restarts: true}
		o.Budget[Death], o.Budget[UserDelete] = r.deaths, r.deletes
		out = append(out, Run{
			Name:         controlPlane(r.servers, r.surge),
			Failures:     fmt.Sprintf("deaths ≤ %d, user deletes ≤ %d", r.deaths, r.deletes),
			Explorations: []Options{o},
		})
	}
	for _, surge := range []int{0, 1} {
		out = append(out, Run{Name: controlPlane(3, surge), Failures: "any two of all kinds", Explorations: Pairs(3, surge)})
	}
	for _, surge := range []int{0, 1} {
		out = append(out, Run{Name: controlPlane(3, surge), Failures: "a kubelet's death and any other, client ports in reach", Explorations: WithKubeletDeath(3, surge)})
	}
	for _, surge := range []int{0, 1} {
		out = append(out, Run{Name: controlPlane(3, surge) + ", external datastore", Failures: "any two of all kinds", Explorations: OutsidePairs(3, surge)})
	}
	return out
}

func controlPlane(servers, surge int) string {
	if servers == 1 {
		return fmt.Sprintf("1 server, maxSurge %d", surge)
	}
	return fmt.Sprintf("%d servers, maxSurge %d", servers, surge)
}

// Pairs are explorations in which any two faults happen, one after the other or
// at once. A kubelet's death is in none: where etcd can be asked through
// kubelets only, a control plane that may not ask a server that works waits for
// an operator.
func Pairs(servers, surge int) []Options {
	var out []Options
	for a := range numFaults {
		for b := a; b < numFaults; b++ {
			once := a == b && (a == Silence || a == WholeDelete)
			if once || a == KubeletDeath || b == KubeletDeath {
				continue
			}
			o := Options{Servers: servers, Surge: surge, Stale: true, Restarts: true}
			o.Budget[a]++
			o.Budget[b]++
			out = append(out, o)
		}
	}
	return out
}

// OutsidePairs are explorations of any two faults with an external datastore:
// those of etcd and of RKE2's care for members do not exist there.
func OutsidePairs(servers, surge int) []Options {
	var out []Options
	for a := range numFaults {
		for b := a; b < numFaults; b++ {
			twice := a == WholeDelete && b == WholeDelete
			if twice || a.ofMembers() || b.ofMembers() {
				continue
			}
			o := Options{External: true, Servers: servers, Surge: surge, Stale: true, Restarts: true}
			o.Budget[a]++
			o.Budget[b]++
			out = append(out, o)
		}
	}
	return out
}

// ofMembers tells whether only servers with members know the fault.
func (f Fault) ofMembers() bool { return f == Corruption || f == NodeDelete || f == Silence }

// WithKubeletDeath are explorations in which a kubelet dies and any other fault
// happens, and the members' client ports are in reach.
func WithKubeletDeath(servers, surge int) []Options {
	var out []Options
	for b := range numFaults {
		o := Options{Servers: servers, Surge: surge, Stale: true, Restarts: true, Direct: true}
		o.Budget[KubeletDeath]++
		o.Budget[b]++
		out = append(out, o)
	}
	return out
}
