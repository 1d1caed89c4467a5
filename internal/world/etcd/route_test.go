package etcd

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/workload"
)

// way is a route that answers after a while.
func way(path model.Path, after time.Duration, err error) Route {
	return Route{Path: path, Dial: func(ctx context.Context, _ string) (net.Conn, error) {
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		one, other := net.Pipe()
		_ = other.Close()
		return one, nil
	}}
}

func TestTheFirstWayThatOpensIsTaken(t *testing.T) {
	const never = time.Hour
	down := errors.New("kubelet is down")
	for name, c := range map[string]struct {
		forward, port Route
		path          model.Path
		took          time.Duration
		err           string
	}{
		"the kubelet answers":             {way(model.PortForward, 100*time.Millisecond, nil), way(model.ClientPort, 0, nil), model.PortForward, 100 * time.Millisecond, ""},
		"the kubelet hangs":               {way(model.PortForward, never, nil), way(model.ClientPort, 0, nil), model.ClientPort, headStart, ""},
		"the kubelet fails":               {way(model.PortForward, 0, down), way(model.ClientPort, 0, nil), model.ClientPort, 0, ""},
		"the kubelet is slow and first":   {way(model.PortForward, 2*headStart, nil), way(model.ClientPort, never, nil), model.PortForward, 2 * headStart, ""},
		"both hang":                       {way(model.PortForward, never, nil), way(model.ClientPort, never, nil), "", CallTimeout, "deadline"},
		"nothing listens, says a kubelet": {way(model.PortForward, 0, workload.ErrRefused), way(model.ClientPort, 0, nil), "", 0, "refused"},
		"both fail":                       {way(model.PortForward, 0, down), way(model.ClientPort, 0, errors.New("no route")), "", 0, "port-forward: kubelet is down\nclient port: no route"},
		"one way only":                    {way(model.PortForward, 0, down), way(model.ClientPort, 0, ErrNoRoute), "", 0, "port-forward: kubelet is down"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), CallTimeout)
				defer cancel()
				begin := time.Now()
				conn, path, err := dialFirst(ctx, []Route{c.forward, c.port}, "n1")
				if took := time.Since(begin); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
				if path != c.path || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("path %q, error %v", path, err)
				}
				if (conn != nil) != (c.path != "") {
					t.Errorf("connection %v", conn)
				}
			})
		})
	}
}
