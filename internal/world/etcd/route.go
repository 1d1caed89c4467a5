package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/workload"
)

// Dialer opens a connection to the etcd client port of a node.
type Dialer func(ctx context.Context, node string) (net.Conn, error)

// Route is one way to the etcd client port of a node.
type Route struct {
	Path model.Path
	Dial Dialer
}

// headStart is how long a route is tried alone. The next one is then tried
// beside it: a kubelet that is dead or a network that swallows packets must not
// take the whole time of a call.
const headStart = 500 * time.Millisecond

// ErrNoRoute says that a route does not exist for a node, as when no address of
// it is known.
var ErrNoRoute = errors.New("there is no such way to the node")

// opened is the result of one route.
type opened struct {
	route Route
	conn  net.Conn
	err   error
}

// dialFirst opens a connection on the first route that gives one. That nothing
// listens on the node ends the search, if it comes from the node's own kubelet:
// whoever else refuses a connection may be a firewall.
func dialFirst(ctx context.Context, routes []Route, node string) (net.Conn, model.Path, error) {
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan opened, len(routes))
	begun, ended := 0, 0
	begin := func() {
		route := routes[begun]
		begun++
		go func() {
			conn, err := route.Dial(ctx, node)
			results <- opened{route: route, conn: conn, err: err}
		}()
	}
	defer func() {
		cancel()
		go closeLate(results, begun-ended)
	}()
	next := time.NewTimer(headStart)
	defer next.Stop()
	var problems []error
	begin()
	for {
		select {
		case <-next.C:
		case r := <-results:
			ended++
			if r.err == nil {
				return r.conn, r.route.Path, nil
			}
			if errors.Is(r.err, workload.ErrRefused) {
				return nil, "", r.err
			}
			if !errors.Is(r.err, ErrNoRoute) {
				problems = append(problems, fmt.Errorf("%s: %w", r.route.Path, r.err))
			}
		}
		switch {
		case begun < len(routes):
			begin()
			next.Reset(headStart)
		case ended == begun:
			return nil, "", errors.Join(problems...)
		}
	}
}

// closeLate closes the connections that came too late.
func closeLate(results <-chan opened, n int) {
	for range n {
		if r := <-results; r.conn != nil {
			_ = r.conn.Close()
		}
	}
}
