package standin

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// echo starts a server that answers with its own address and then what it is sent.
func echo(t *testing.T) string {
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
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = io.WriteString(conn, l.Addr().String()+"\n")
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return l.Addr().String()
}

// client connects through the proxy and returns which backend answered.
func client(t *testing.T, proxy net.Addr) (net.Conn, string) {
	t.Helper()
	conn, err := net.Dial("tcp", proxy.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 64)
	n, err := conn.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return conn, string(buffer[:n-1])
}

func TestProxyLeavesServersThatAreGone(t *testing.T) {
	first, second := echo(t), echo(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	list, listErr := []string{dead, first, second}, error(nil)
	p := newAPIProxy(func(context.Context) ([]string, error) { return list, listErr })
	refresh := func() {
		t.Helper()
		if err := p.refresh(t.Context()); !errors.Is(err, listErr) {
			t.Fatal(err)
		}
	}
	refresh()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.serve(t.Context(), l)

	conn, backend := client(t, l.Addr())
	if backend != first {
		t.Errorf("got %s, want the first that lives", backend)
	}
	if _, again := client(t, l.Addr()); again != first {
		t.Errorf("got %s, want the one that answered last", again)
	}

	// Neither a failure nor an empty list takes the servers away.
	list = nil
	refresh()
	list, listErr = []string{second}, errors.New("no answer")
	refresh()
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Errorf("the connection is gone: %v", err)
	}

	listErr = nil
	refresh()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection to a server that left is still open: %v", err)
	}
	if _, backend := client(t, l.Addr()); backend != second {
		t.Errorf("got %s, want %s", backend, second)
	}
}
