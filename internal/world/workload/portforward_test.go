package workload

import (
	"bufio"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	proxyutil "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// kubelet serves port-forwards the way a kubelet does: a pair of streams for
// each connection, the reason of a failure on the error stream.
func kubelet(w http.ResponseWriter, req *http.Request) {
	if _, err := httpstream.Handshake(req, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 2)
	conn := streamspdy.NewResponseUpgrader().UpgradeResponse(w, req, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	var problems, data httpstream.Stream
	for problems == nil || data == nil {
		select {
		case s := <-streams:
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				problems = s
			} else {
				data = s
			}
		case <-conn.CloseChan():
			return
		}
	}
	forward(problems, data)
	<-conn.CloseChan()
}

func forward(problems, data httpstream.Stream) {
	port := data.Headers().Get(corev1.PortHeader)
	target, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		_, _ = fmt.Fprintf(problems, "error forwarding port %s to pod: %v", port, err)
		_ = problems.Close()
		_ = data.Close()
		return
	}
	_ = problems.Close()
	go func() { _, _ = io.Copy(target, data); _ = target.Close() }()
	_, _ = io.Copy(data, target)
	_ = data.Close()
}

// apiServer is the other half: with tunneling it takes SPDY in a WebSocket,
// as API servers do since 1.31, without it only plain SPDY.
func apiServer(t *testing.T, tunneling bool, seen func(*http.Request)) *Cluster {
	t.Helper()
	spdyOnly := http.HandlerFunc(kubelet)
	tunnel := proxyutil.NewTunnelingHandler(spdyOnly)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		seen(req)
		switch {
		case strings.Contains(req.URL.Path, "/pods/missing/"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"pods \"missing\" not found","code":404}`)
		case strings.Contains(req.URL.Path, "/pods/frozen/"):
			<-req.Context().Done()
		case !wsstream.IsWebSocketRequestWithTunnelingProtocol(req):
			spdyOnly(w, req)
		case tunneling:
			tunnel.ServeHTTP(w, req)
		default:
			http.Error(w, "you must specify at least 1 port", http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	config := &rest.Config{Host: server.URL}
	config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &Cluster{config: config}
}

func echo(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func TestDialPod(t *testing.T) {
	for name, tunneling := range map[string]bool{"in a WebSocket": true, "plain SPDY as the way out": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := apiServer(t, tunneling, func(*http.Request) {})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			conn, err := c.DialPod(ctx, "kube-system", "etcd-a", echo(t))
			g.Expect(err).NotTo(HaveOccurred())
			cancel() // The context bounds the opening only.

			g.Expect(conn.SetDeadline(time.Now().Add(10 * time.Second))).To(Succeed())
			_, err = fmt.Fprintln(conn, "hello")
			g.Expect(err).NotTo(HaveOccurred())
			line, err := bufio.NewReader(conn).ReadString('\n')
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(line).To(Equal("hello\n"))

			g.Expect(conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))).To(Succeed())
			_, err = conn.Read(make([]byte, 1))
			g.Expect(err).To(HaveOccurred(), "a deadline ends a read")
			_ = conn.Close()
		})
	}
}

func TestDialPodRefused(t *testing.T) {
	g := NewWithT(t)
	c := apiServer(t, true, func(*http.Request) {})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	port := l.Addr().(*net.TCPAddr).Port
	g.Expect(l.Close()).To(Succeed())

	conn, err := c.DialPod(t.Context(), "kube-system", "etcd-a", port)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = conn.Close() }()
	_, err = conn.Read(make([]byte, 1))
	g.Expect(errors.Is(err, ErrRefused)).To(BeTrue(), "%v", err)
}

func TestDialPodMissing(t *testing.T) {
	g := NewWithT(t)
	var mu sync.Mutex
	requests := 0
	c := apiServer(t, true, func(*http.Request) { mu.Lock(); requests++; mu.Unlock() })
	_, err := c.DialPod(t.Context(), "kube-system", "missing", 2379)
	g.Expect(err).To(MatchError(And(ContainSubstring("kube-system/missing"), ContainSubstring("not found"))))
	mu.Lock()
	defer mu.Unlock()
	g.Expect(requests).To(Equal(1), "a clear no is not asked again in another way")
}

func TestDialPodEndsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	c := apiServer(t, true, func(*http.Request) {})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := c.DialPod(ctx, "kube-system", "frozen", 2379)
	g.Expect(err).To(HaveOccurred())
}
