package balancer

import (
	"context"
	"io"
	"net"
	"sync"
)

// connection is a client's connection with its counterpart to a server.
type connection struct{ client, server net.Conn }

// copy passes data in both directions, as far as the valve lets it, until both have ended.
func (c *connection) copy(ctx context.Context, v *valve) {
	var group sync.WaitGroup
	for _, way := range [][2]net.Conn{{c.server, c.client}, {c.client, c.server}} {
		group.Go(func() {
			if _, err := io.Copy(valved{way[0], v, ctx}, way[1]); err != nil {
				c.reset()
				return
			}
			if half, ok := way[0].(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
		})
	}
	group.Wait()
	_, _ = c.client.Close(), c.server.Close()
}

// reset breaks both sides off.
func (c *connection) reset() {
	reset(c.client)
	reset(c.server)
}

// reset closes a connection so that its peer learns at once that something is wrong.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
