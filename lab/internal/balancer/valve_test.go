package balancer

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// silent tells whether nothing comes over a connection for a moment, which is neither data nor its end.
func silent(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

func TestBlackholeTakesEverythingAndPassesNothingOn(t *testing.T) {
	g := NewWithT(t)
	b, _ := startHealthy(t, 2)
	old, name := connect(t, b)
	g.Expect(name).NotTo(BeEmpty())

	b.SetBlackhole(true)
	b.SetBlackhole(true)
	_, err := old.Write([]byte("x"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(silent(old)).To(BeTrue(), "an old connection stays open and hears nothing")
	fresh, err := net.Dial("tcp", b.Addresses()[0].String())
	g.Expect(err).NotTo(HaveOccurred(), "a new one is taken")
	defer func() { _ = fresh.Close() }()
	g.Expect(silent(fresh)).To(BeTrue())
	g.Consistently(healthy(b), 5*quick.Interval).Should(Equal(2), "the backends are well")

	b.SetBlackhole(false)
	for _, conn := range []net.Conn{old, fresh} {
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err := io.ReadFull(conn, make([]byte, 1))
		g.Expect(err).NotTo(HaveOccurred(), "what was held back arrives")
	}
}

func TestBlackholeDoesNotHoldUpTheEnd(t *testing.T) {
	g := NewWithT(t)
	b, _ := startHealthy(t, 1)
	conn, _ := connect(t, b)
	b.SetBlackhole(true)
	_, err := conn.Write([]byte("x"))
	g.Expect(err).NotTo(HaveOccurred())
	ended := make(chan struct{})
	go func() {
		b.Close()
		close(ended)
	}()
	g.Eventually(ended, 10*time.Second).Should(BeClosed())
}
