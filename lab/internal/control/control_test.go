package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeLab has one machine, named m1.
type fakeLab struct {
	mu     sync.Mutex
	faults []string
	silent []string
	down   chan struct{}
}

func (f *fakeLab) Status() Status { return Status{Ready: true, Provider: "p"} }

func (f *fakeLab) Machines() []Machine { return []Machine{{Name: "m1", State: "Running"}} }

func (f *fakeLab) Balancers() []Balancer { return []Balancer{{Cluster: "default/c"}} }

func (f *fakeLab) Disturb(machine string, fault Fault) error {
	if machine != "m1" {
		return NotFound(fmt.Errorf("%s machine %s: no such machine", fault, machine))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, string(fault))
	return nil
}

func (f *fakeLab) Exec(_ context.Context, _ string, request ExecRequest) (ExecResult, error) {
	return ExecResult{Stdout: []byte(strings.Join(request.Argv, " ")), Stderr: request.Stdin, ExitCode: 3}, nil
}

func (f *fakeLab) Blackhole(namespace, cluster string, on bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent = append(f.silent, fmt.Sprintf("%s/%s %t", namespace, cluster, on))
	return nil
}

func (f *fakeLab) DialInside(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("the machine is off")
}

func (f *fakeLab) StopProvider() error { return errors.New("no provider under test is running") }

func (f *fakeLab) StartProvider(_ context.Context, request StartRequest) error {
	return fmt.Errorf("started with %v", request.Args)
}

func (f *fakeLab) AddManagement(_ context.Context, name string) error {
	return fmt.Errorf("a management cluster %s was started already", name)
}

func (f *fakeLab) Down() { close(f.down) }

// start serves a fake lab on a socket whose path is too long for a socket address.
func start(t *testing.T) (*Client, *fakeLab) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "control.sock")
	listener, err := Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	lab := &fakeLab{down: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, listener, lab) }()
	client := NewClient(path)
	t.Cleanup(func() {
		client.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return client, lab
}

func TestQuestionsAndCommands(t *testing.T) {
	client, lab := start(t)
	ctx := t.Context()
	if status, err := client.Status(ctx); err != nil || !status.Ready || status.Provider != "p" {
		t.Errorf("status %+v, %v", status, err)
	}
	if machines, err := client.Machines(ctx); err != nil || len(machines) != 1 || machines[0].Name != "m1" {
		t.Errorf("machines %+v, %v", machines, err)
	}
	if balancers, err := client.Balancers(ctx); err != nil || len(balancers) != 1 {
		t.Errorf("balancers %+v, %v", balancers, err)
	}
	for _, fault := range Faults {
		if err := client.Disturb(ctx, "m1", fault); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"kill", "freeze", "thaw", "cut", "heal"}, lab.faults); diff != "" {
		t.Error(diff)
	}
	for _, fault := range []Fault{Blackhole, Heal} {
		if err := client.DisturbBalancer(ctx, "default", "c", fault); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"default/c true", "default/c false"}, lab.silent); diff != "" {
		t.Error(diff)
	}
	result, err := client.Exec(ctx, "m1", ExecRequest{Argv: []string{"echo", "x"}, Stdin: []byte("in")})
	if err != nil || string(result.Stdout) != "echo x" || string(result.Stderr) != "in" || result.ExitCode != 3 {
		t.Errorf("exec %+v, %v", result, err)
	}
	if err := client.Down(ctx); err != nil {
		t.Error(err)
	}
	<-lab.down
}

func TestRefusals(t *testing.T) {
	client, _ := start(t)
	ctx := t.Context()
	if err := client.Disturb(ctx, "m2", Kill); !errors.Is(err, ErrNotFound) || err.Error() != "kill machine m2: no such machine" {
		t.Errorf("an unknown machine gave %v", err)
	}
	for want, err := range map[string]error{
		"unknown fault \"explode\"": client.Disturb(ctx, "m1", "explode"),
		"argv is empty":             second(client.Exec(ctx, "m1", ExecRequest{})),
		"no provider under test":    client.StopProvider(ctx),
		"started with [-v=2 -x]":    client.StartProvider(ctx, StartRequest{Args: []string{"-v=2", "-x"}}),
		"cluster x/y was started":   client.AddManagement(ctx, "x/y"),
		"addr must be IP:PORT":      second(client.DialContext(ctx, "tcp", "localhost:1")),
		"the machine is off":        second(client.DialInside(ctx, "m1", "127.0.0.1:1")),
		"connection refused":        second(client.DialContext(ctx, "tcp", closedPort(t))),
		"does not answer":           NewClient(filepath.Join(t.TempDir(), "control.sock")).Down(ctx),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func TestTunnelPassesDataBothWays(t *testing.T) {
	client, _ := start(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		// Speaking first shows that nothing gets lost behind the handshake.
		_, _ = io.WriteString(conn, "hello ")
		_, _ = io.Copy(conn, conn)
		_ = conn.Close()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	conn, err := client.DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	// The end of the context is the end of the dialling, not of the connection.
	cancel()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, "world"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || string(answer) != "hello world" {
		t.Errorf("got %q, %v", answer, err)
	}
	_ = conn.Close()
}
