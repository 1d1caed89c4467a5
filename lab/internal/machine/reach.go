package machine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/vishvananda/netns"

	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/paths"
)

// Exec runs a command inside a machine as its root and waits for its end. The
// command's own failure is in the result, not in the error.
func (m *Manager) Exec(ctx context.Context, name string, argv []string, stdin []byte) (guest.ExecResult, error) {
	mc, err := m.running(name)
	if err != nil {
		return guest.ExecResult{}, fmt.Errorf("run command in machine %s: %w", name, err)
	}
	// The socket is reached through the first process's view of the file system.
	socket := filepath.Join("/proc", strconv.Itoa(mc.process.Pid), "root", paths.InitSocket)
	result, err := guest.NewClient(socket).Exec(ctx, guest.ExecRequest{Argv: argv, Stdin: stdin})
	if err != nil {
		return result, fmt.Errorf("run command in machine %s: %w", name, err)
	}
	return result, nil
}

// DialInside opens a TCP connection from inside a machine, so that 127.0.0.1
// means the machine's own. The address is an IP address with a port.
func (m *Manager) DialInside(ctx context.Context, name, address string) (net.Conn, error) {
	mc, err := m.running(name)
	if err != nil {
		return nil, fmt.Errorf("dial inside machine %s: %w", name, err)
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial inside machine %s: %w", name, err)
	}
	type outcome struct {
		conn net.Conn
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		conn, err := dialInNamespace(ctx, mc.process.Pid, target)
		done <- outcome{conn, err}
	}()
	result := <-done
	if result.err != nil {
		return nil, fmt.Errorf("dial inside machine %s: %w", name, result.err)
	}
	return result.conn, nil
}

// dialInNamespace must run in a goroutine of its own: it leaves its thread in
// the machine's network namespace, locked, so that Go ends the thread with it.
func dialInNamespace(ctx context.Context, pid int, target netip.AddrPort) (net.Conn, error) {
	runtime.LockOSThread()
	namespace, err := netns.GetFromPid(pid)
	if err != nil {
		return nil, err
	}
	defer func() { _ = namespace.Close() }()
	if err := netns.Set(namespace); err != nil {
		return nil, err
	}
	// For a literal address the socket is made right here, in this thread.
	return (&net.Dialer{}).DialContext(ctx, "tcp", target.String())
}
