package machine

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// siteStub is the applet that listens on two ports and says so.
const siteStub = "site-stub"

// serveSite answers with its own name on the port 9443 of every address and on 2379 of 127.0.0.1.
func serveSite(args []string) int {
	for _, address := range []string{"0.0.0.0:9443", "127.0.0.1:2379"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_, _ = io.WriteString(os.Stdout, err.Error()+"\n")
			return 1
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, args[0])
				_ = conn.Close()
			}
		}()
	}
	_, _ = io.WriteString(os.Stdout, "up\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// startAt starts a stub at a site; it ends with the test.
func startAt(t *testing.T, site *Site, name string) {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "/proc/self/exe", siteStub, name)
	hold, err := cmd.StdinPipe()
	g.Expect(err).NotTo(HaveOccurred())
	out, err := cmd.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(site.Start(cmd)).To(Succeed())
	t.Cleanup(func() {
		_ = hold.Close()
		cancel()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(line).To(Equal("up\n"))
}

func ask(t *testing.T, address string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func TestSitesShareTheBridgeAndNoPort(t *testing.T) {
	g := NewWithT(t)
	m := newManager(t)
	home := m.Home()
	second, err := m.AddSite()
	g.Expect(err).NotTo(HaveOccurred())
	third, err := m.AddSite()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]netip.Addr{home.Address(), second.Address(), third.Address()}).To(Equal([]netip.Addr{
		Gateway, netip.MustParseAddr("10.77.0.2"), netip.MustParseAddr("10.77.0.3"),
	}))
	for name, site := range map[string]*Site{"home": home, "second": second, "third": third} {
		startAt(t, site, name)
	}
	for name, site := range map[string]*Site{"home": home, "second": second, "third": third} {
		g.Expect(ask(t, netip.AddrPortFrom(site.Address(), 9443).String())).To(Equal(name))
	}
	g.Expect(ask(t, "127.0.0.1:2379")).To(Equal("home"), "each has a 127.0.0.1 of its own")

	for range lastSite.As4()[3] - third.Address().As4()[3] {
		_, err := m.AddSite()
		g.Expect(err).NotTo(HaveOccurred())
	}
	_, err = m.AddSite()
	g.Expect(err).To(MatchError(ContainSubstring("are used up")))
	g.Expect(strings.Count(err.Error(), "8 addresses")).To(Equal(1))
}
