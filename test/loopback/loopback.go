// Package loopback gives tests addresses to listen on that nobody else takes.
package loopback

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
)

// Ports are handed out from below those that the kernel gives to clients
// (net.ipv4.ip_local_port_range), so that no connection of anybody takes one.
const (
	firstPort = 20000
	endOfPort = 32768
)

var (
	mu sync.Mutex
	// next is the port to try first. Every process begins at another one.
	next = os.Getpid() * 32 % (endOfPort - firstPort)
	// claims are kept until the process ends: without them the garbage
	// collector would close the sockets.
	claims []net.Listener
)

// Address returns an address that only this process uses: a host in 127.0.0.0/8
// of its own, and a port that no other process was given, so that programs
// which listen at all hosts can have it, too. It stays ours until the process
// ends, whether or not anything listens there.
//
// A port that was free a moment ago, which is what the kernel gives for port 0,
// is taken by somebody else from time to time.
func Address() netip.AddrPort {
	mu.Lock()
	defer mu.Unlock()
	for range endOfPort - firstPort {
		port := uint16(firstPort + next)
		next = (next + 1) % (endOfPort - firstPort)
		if claimed := claim(port); claimed != nil {
			claims = append(claims, claimed)
			return netip.AddrPortFrom(host(), port)
		}
	}
	panic("every port for tests is in use")
}

// host is made from the process ID, of which Linux has at most 2^22.
func host() netip.Addr {
	pid := os.Getpid()
	return netip.AddrFrom4([4]byte{127, byte(64 + pid>>16&0x3f), byte(pid >> 8), byte(pid)})
}

// claim returns what keeps other processes from being given the port, or nil if
// somebody has it. A socket with an abstract name exists as long as its process
// has it open, and in the same network namespace as the port.
func claim(port uint16) net.Listener {
	var listen net.ListenConfig
	number := strconv.Itoa(int(port))
	claimed, err := listen.Listen(context.Background(), "unix", "@drover-test-port-"+number)
	if err != nil {
		return nil
	}
	// Those who do not ask here may listen, too.
	listener, err := listen.Listen(context.Background(), "tcp", ":"+number)
	if err != nil {
		_ = claimed.Close()
		return nil
	}
	_ = listener.Close()
	return claimed
}
