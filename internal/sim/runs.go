package sim

import "fmt"

// Run is an exploration with a name.
type Run struct {
	Name string
	Options
}

// Runs are the explorations that `make explore` makes and the README shows:
// what a computer with two cores walks in a quarter of an hour.
func Runs() []Run {
	var out []Run
	for _, r := range []struct {
		servers, surge  int
		deaths, deletes uint8
	}{
		{1, 1, 2, 2}, {2, 1, 2, 1}, {3, 0, 2, 1}, {3, 1, 2, 1}, {5, 0, 1, 1}, {5, 1, 1, 1},
	} {
		o := Options{Servers: r.servers, Surge: r.surge, Stale: true, Restarts: true}
		o.Budget[Death], o.Budget[UserDelete] = r.deaths, r.deletes
		out = append(out, Run{Name: fmt.Sprintf("%d servers, maxSurge %d", r.servers, r.surge), Options: o})
	}
	return out
}
