package balancer

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

var quick = Timing{
	Interval: 10 * time.Millisecond, Timeout: time.Second, Fall: 2, Grace: 50 * time.Millisecond, Dial: time.Second,
}

// backend is a server that greets with its name and then echoes.
type backend struct {
	net.Listener
	ip   netip.Addr
	sick atomic.Bool
}

// startBackends starts servers named a, b, … on one port of several loopback addresses.
func startBackends(t *testing.T, count int) (map[string]*backend, uint16) {
	t.Helper()
	out := map[string]*backend{}
	port := uint16(0)
	for i := range count {
		name := string(rune('a' + i))
		ip := netip.AddrFrom4([4]byte{127, 0, 77, byte(i + 1)})
		listener, err := net.Listen("tcp", netip.AddrPortFrom(ip, port).String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		port = listener.Addr().(*net.TCPAddr).AddrPort().Port()
		b := &backend{Listener: listener, ip: ip}
		out[name] = b
		go b.serve(name)
	}
	return out, port
}

func (b *backend) serve(name string) {
	for {
		conn, err := b.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			_, _ = io.WriteString(conn, name)
			_, _ = io.Copy(conn, conn)
		}()
	}
}

func start(t *testing.T, servers map[string]*backend, port uint16, timing Timing) *Balancer {
	t.Helper()
	check := func(_ context.Context, address netip.AddrPort) error {
		for _, s := range servers {
			if s.ip == address.Addr() && s.sick.Load() {
				return errors.New("sick")
			}
		}
		return nil
	}
	b, err := New([]Service{{Listen: netip.MustParseAddrPort("127.0.0.1:0"), Port: port, Check: check}}, timing)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// startHealthy starts a quick balancer in front of n servers and waits until all of them are well.
func startHealthy(t *testing.T, n int) (*Balancer, map[string]*backend) {
	t.Helper()
	servers, port := startBackends(t, n)
	b := start(t, servers, port, quick)
	b.SetBackends(list(servers))
	NewWithT(t).Eventually(healthy(b)).Should(Equal(n))
	return b, servers
}

func list(servers map[string]*backend, excluded ...string) []Backend {
	var out []Backend
	for name, s := range servers {
		entry := Backend{Name: name, IP: s.ip}
		for _, e := range excluded {
			entry.Excluded = entry.Excluded || e == name
		}
		out = append(out, entry)
	}
	return out
}

// connect returns a connection and the name of the server that answered, "" if none did.
func connect(t *testing.T, b *Balancer) (net.Conn, string) {
	t.Helper()
	conn, err := net.Dial("tcp", b.Addresses()[0].String())
	if err != nil {
		// The balancer may have reset the connection already.
		return nil, ""
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	name := make([]byte, 1)
	if _, err := io.ReadFull(conn, name); err != nil {
		return conn, ""
	}
	return conn, string(name)
}

func healthy(b *Balancer) func() int {
	return func() int {
		n := 0
		for _, s := range b.Status() {
			if s.Healthy {
				n++
			}
		}
		return n
	}
}

func TestSpreadsConnectionsAndCounts(t *testing.T) {
	g := NewWithT(t)
	servers, port := startBackends(t, 3)
	b := start(t, servers, port, quick)
	_, name := connect(t, b)
	g.Expect(name).To(BeEmpty(), "a balancer without backends ends connections")
	b.SetBackends(list(servers))
	g.Eventually(healthy(b)).Should(Equal(3))
	seen := map[string]int{}
	for range 6 {
		_, name := connect(t, b)
		seen[name]++
	}
	g.Expect(seen).To(Equal(map[string]int{"a": 2, "b": 2, "c": 2}))
	for _, s := range b.Status() {
		g.Expect(s.Open).To(Equal(2), s.Name)
		g.Expect(s.Total).To(Equal(int64(2)), s.Name)
	}
}

func TestPassesDataBothWays(t *testing.T) {
	g := NewWithT(t)
	b, _ := startHealthy(t, 1)
	conn, _ := connect(t, b)
	_, err := io.WriteString(conn, "hello")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(conn.(*net.TCPConn).CloseWrite()).To(Succeed())
	echo, err := io.ReadAll(conn)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(echo)).To(Equal("hello"))
	g.Eventually(func() int { return b.Status()[0].Open }).Should(BeZero())
}

func TestSickBackendIsTakenOutAndComesBack(t *testing.T) {
	g := NewWithT(t)
	b, servers := startHealthy(t, 2)
	conn, first := connect(t, b)

	servers[first].sick.Store(true)
	g.Eventually(healthy(b)).Should(Equal(1))
	_, err := conn.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred(), "its connections are broken off")
	for range 4 {
		_, name := connect(t, b)
		g.Expect(name).NotTo(BeElementOf("", first))
	}
	servers[first].sick.Store(false)
	g.Eventually(healthy(b)).Should(Equal(2))
}

func TestOneFailedCheckIsForgiven(t *testing.T) {
	tg := newTarget(t.Context(), "a", netip.MustParseAddrPort("127.0.0.1:1"))
	g := NewWithT(t)
	for _, step := range []struct {
		err  error
		want bool
	}{{errors.New("x"), false}, {nil, true}, {errors.New("x"), true}, {nil, true}, {errors.New("x"), true}, {errors.New("x"), false}, {nil, true}} {
		tg.noteCheck(step.err, 2)
		g.Expect(tg.status().Healthy).To(Equal(step.want))
	}
}

func TestExcludedBackendIsDrained(t *testing.T) {
	g := NewWithT(t)
	servers, port := startBackends(t, 2)
	slow := quick
	slow.Grace = 300 * time.Millisecond
	b := start(t, servers, port, slow)
	b.SetBackends(list(servers))
	g.Eventually(healthy(b)).Should(Equal(2))
	conn, first := connect(t, b)

	excludedAt := time.Now()
	b.SetBackends(list(servers, first))
	_, name := connect(t, b)
	g.Expect(name).NotTo(BeElementOf("", first), "no new connection goes there, at once")
	_, err := conn.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred(), "an old connection ends")
	g.Expect(time.Since(excludedAt)).To(BeNumerically(">=", slow.Grace), "but not before the grace is over")

	b.SetBackends(list(servers))
	_, name = connect(t, b)
	g.Expect(name).NotTo(BeEmpty())
}

func TestExclusionTakenBackInTimeKeepsConnections(t *testing.T) {
	g := NewWithT(t)
	b, servers := startHealthy(t, 1)
	conn, name := connect(t, b)
	b.SetBackends(list(servers, name))
	b.SetBackends(list(servers))
	g.Consistently(func() int { return b.Status()[0].Open }, 3*quick.Grace).Should(Equal(1))
	_, err := io.WriteString(conn, "x")
	g.Expect(err).NotTo(HaveOccurred())
}

func TestDialFailureGoesToTheNext(t *testing.T) {
	g := NewWithT(t)
	servers, port := startBackends(t, 2)
	patient := quick
	patient.Interval = time.Hour // only the first check counts
	b := start(t, servers, port, patient)
	b.SetBackends(list(servers))
	g.Eventually(healthy(b)).Should(Equal(2))
	g.Expect(servers["a"].Close()).To(Succeed())
	for range 3 {
		_, name := connect(t, b)
		g.Expect(name).To(Equal("b"))
	}
}

func TestRemovedBackendLosesConnections(t *testing.T) {
	g := NewWithT(t)
	b, _ := startHealthy(t, 1)
	conn, _ := connect(t, b)
	b.SetBackends(nil)
	_, err := conn.Read(make([]byte, 1))
	g.Expect(err).To(HaveOccurred())
	g.Expect(b.Status()).To(BeEmpty())
}
