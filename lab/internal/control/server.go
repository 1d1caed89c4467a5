package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// dialTimeout bounds the making of one connection inside the lab.
const dialTimeout = 10 * time.Second

// Lab is what the server controls.
type Lab interface {
	Status() Status
	Machines() []Machine
	Balancers() []Balancer
	// Disturb applies a fault to a machine.
	Disturb(machine string, fault Fault) error
	// Blackhole makes the load balancer of the Cluster silent, or ends that.
	Blackhole(namespace, cluster string, on bool) error
	Exec(ctx context.Context, machine string, request ExecRequest) (ExecResult, error)
	// DialInside connects from inside a machine.
	DialInside(ctx context.Context, machine, address string) (net.Conn, error)
	// StopProvider ends the processes of the provider under test.
	StopProvider() error
	// StartProvider starts them and returns once they are ready. ctx bounds the wait, not their life.
	StartProvider(ctx context.Context, request StartRequest) error
	// AddManagement starts one more management cluster, with the same providers, and returns once all is ready. ctx
	// bounds the wait, not its life.
	AddManagement(ctx context.Context, name string) error
	// Down starts the end of the lab and returns at once.
	Down()
}

type server struct{ lab Lab }

// Serve answers requests on the listener until ctx ends.
func Serve(ctx context.Context, listener net.Listener, lab Lab) error {
	s := &server{lab: lab}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /dial", s.dial)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { answer(w, lab.Status()) })
	mux.HandleFunc("GET /machines", func(w http.ResponseWriter, _ *http.Request) { answer(w, lab.Machines()) })
	mux.HandleFunc("GET /balancers", func(w http.ResponseWriter, _ *http.Request) { answer(w, lab.Balancers()) })
	mux.HandleFunc("POST /balancers/{namespace}/{name}/{fault}", s.disturbBalancer)
	mux.HandleFunc("POST /machines/{name}/exec", s.exec)
	mux.HandleFunc("POST /machines/{name}/{fault}", s.disturb)
	mux.HandleFunc("POST /provider/start", s.startProvider)
	mux.HandleFunc("POST /provider/stop", func(w http.ResponseWriter, _ *http.Request) { done(w, lab.StopProvider()) })
	mux.HandleFunc("POST /managements/{name}", func(w http.ResponseWriter, r *http.Request) {
		done(w, lab.AddManagement(r.Context(), r.PathValue("name")))
	})
	mux.HandleFunc("POST /down", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		lab.Down()
	})
	httpServer := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = httpServer.Close() })
	defer stop()
	if err := httpServer.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve control socket: %w", err)
	}
	return nil
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	// The other side may be gone; then nobody misses the answer.
	_ = json.NewEncoder(w).Encode(value)
}

// done answers a request that has no other answer than its success.
func done(w http.ResponseWriter, err error) {
	if err != nil {
		refuse(w, http.StatusConflict, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

type failure struct {
	Error string `json:"error"`
}

func refuse(w http.ResponseWriter, status int, err error) {
	if errors.Is(err, ErrNotFound) {
		status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(failure{Error: err.Error()})
}

func (s *server) disturb(w http.ResponseWriter, r *http.Request) {
	fault := Fault(r.PathValue("fault"))
	if !slices.Contains(Faults, fault) {
		refuse(w, http.StatusNotFound, fmt.Errorf("unknown fault %q; known are %v", fault, Faults))
		return
	}
	done(w, s.lab.Disturb(r.PathValue("name"), fault))
}

func (s *server) disturbBalancer(w http.ResponseWriter, r *http.Request) {
	fault := Fault(r.PathValue("fault"))
	if fault != Blackhole && fault != Heal {
		refuse(w, http.StatusNotFound, fmt.Errorf("unknown fault %q of a load balancer; known are %s and %s", fault, Blackhole, Heal))
		return
	}
	done(w, s.lab.Blackhole(r.PathValue("namespace"), r.PathValue("name"), fault == Blackhole))
}

func (s *server) startProvider(w http.ResponseWriter, r *http.Request) {
	var request StartRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("read request: %w", err))
		return
	}
	done(w, s.lab.StartProvider(r.Context(), request))
}

func (s *server) exec(w http.ResponseWriter, r *http.Request) {
	var request ExecRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("read request: %w", err))
		return
	}
	if len(request.Argv) == 0 {
		refuse(w, http.StatusBadRequest, errors.New("argv is empty"))
		return
	}
	result, err := s.lab.Exec(r.Context(), r.PathValue("name"), request)
	if err != nil {
		refuse(w, http.StatusConflict, err)
		return
	}
	answer(w, result)
}

func (s *server) dial(w http.ResponseWriter, r *http.Request) {
	address := r.URL.Query().Get("addr")
	if _, err := netip.ParseAddrPort(address); err != nil {
		refuse(w, http.StatusBadRequest, fmt.Errorf("addr must be IP:PORT: %w", err))
		return
	}
	inside, err := s.connect(r, address)
	if err != nil {
		refuse(w, http.StatusBadGateway, err)
		return
	}
	outside, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = inside.Close()
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	_, err = fmt.Fprintf(outside, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", tunnel)
	if err != nil {
		_, _ = inside.Close(), outside.Close()
		return
	}
	Pipe(inside, bufferedConn{Conn: outside, reader: buffered})
}

func (s *server) connect(r *http.Request, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(r.Context(), dialTimeout)
	defer cancel()
	if machine := r.URL.Query().Get("machine"); machine != "" {
		return s.lab.DialInside(ctx, machine, address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// bufferedConn is a connection of which something was already read.
type bufferedConn struct {
	net.Conn
	reader io.Reader
}

func (c bufferedConn) Read(p []byte) (int, error) { return c.reader.Read(p) }

// CloseWrite passes the end of one direction on.
func (c bufferedConn) CloseWrite() error { return closeWrite(c.Conn) }

// Pipe copies between two connections in both directions until both have
// ended, and closes them.
func Pipe(a, b net.Conn) {
	var group sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		group.Go(func() {
			_, err := io.Copy(way[0], way[1])
			if err != nil {
				// A broken direction breaks the connection as a whole.
				_, _ = a.Close(), b.Close()
				return
			}
			_ = closeWrite(way[0])
		})
	}
	group.Wait()
	_, _ = a.Close(), b.Close()
}

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
