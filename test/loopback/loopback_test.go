package loopback

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// asked makes the test program say which port it is given first.
const asked = "DROVER_TEST_LOOPBACK_FIRST"

func TestMain(m *testing.M) {
	if first := os.Getenv(asked); first != "" {
		var err error
		if next, err = strconv.Atoi(first); err != nil {
			panic(err)
		}
		fmt.Println(Address())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestAddress(t *testing.T) {
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	clients, err := strconv.Atoi(strings.Fields(string(data))[0])
	if err != nil {
		t.Fatal(err)
	}
	seen := map[netip.AddrPort]bool{}
	for range 100 {
		address := Address()
		if seen[address] || !address.Addr().IsLoopback() || int(address.Port()) >= clients {
			t.Fatalf("got %s; clients have the ports from %d on", address, clients)
		}
		seen[address] = true
		for _, host := range []string{address.Addr().String(), ""} {
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(host, strconv.Itoa(int(address.Port()))))
			if err != nil {
				t.Fatal(err)
			}
			if err := listener.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Another process is given neither a port that was given to us, whether or not
// we listen there, nor one that somebody listens at without having asked.
func TestOtherProcesses(t *testing.T) {
	ours, unclaimed := Address(), Address()
	if err := claims[len(claims)-1].Close(); err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", unclaimed.String())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // nothing was written
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", asked, ours.Port()-firstPort))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := netip.ParseAddrPort(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if theirs.Addr() == ours.Addr() {
		t.Errorf("both have the host %s", ours.Addr())
	}
	if theirs.Port() == ours.Port() || theirs.Port() == unclaimed.Port() {
		t.Errorf("was given %s: %s is ours, and somebody listens at %s", theirs, ours, unclaimed)
	}
}
