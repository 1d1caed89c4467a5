package supervisor

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/drover-project/drover/lab/internal/standin/pki"
)

// Agent is what a joining agent gets.
type Agent struct {
	ServerCA []byte   `json:"serverCA"`
	ClientCA []byte   `json:"clientCA"`
	Client   pki.Pair `json:"client"`
	Serving  pki.Pair `json:"serving"`
}

// Member is one etcd member as /db/info lists it: k3s answers with etcd's own type.
type Member struct {
	ID         uint64   `json:"ID"`
	Learner    bool     `json:"isLearner,omitempty"`
	Name       string   `json:"name"`
	ClientURLs []string `json:"clientURLs"`
	PeerURLs   []string `json:"peerURLs"`
}

// Backend is what the supervisor asks its server for.
type Backend interface {
	// Ready tells whether the server's etcd member is a voter.
	Ready() bool
	// Members lists the etcd members.
	Members(ctx context.Context) ([]Member, error)
	// EnsurePassword keeps a name for the node that registered under it first; ErrPassword tells that it is another's.
	EnsurePassword(ctx context.Context, node, password string) error
	// APIServers lists host:port of all API servers.
	APIServers(ctx context.Context) ([]string, error)
}

// Server is the supervisor API of one server.
type Server struct {
	Store pki.Store
	Token Token
	// AgentToken is what agents may use besides Token. Empty means none.
	AgentToken string
	Critical   map[string]string
	Backend    Backend
}

// Serve answers on the listener until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener, serving pki.Pair) error {
	certificate, err := tls.X509KeyPair(serving.Cert, serving.Key)
	if err != nil {
		return fmt.Errorf("supervisor certificate: %w", err)
	}
	server := &http.Server{
		Handler:           s.handler(),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      30 * time.Second,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ServeTLS(l, "", ""); err != nil && ctx.Err() == nil {
		return fmt.Errorf("supervisor: %w", err)
	}
	return nil
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("pong")) })
	mux.HandleFunc("GET /cacerts", s.cacerts)
	mux.HandleFunc("GET /v1-rke2/readyz", s.readyz)
	mux.HandleFunc("GET /db/info", s.serversOnly(s.members))
	mux.HandleFunc("GET /v1-rke2/server-bootstrap", s.serversOnly(s.bootstrap))
	mux.HandleFunc("GET /v1-rke2/agent-bootstrap", s.nodesOnly(s.agent))
	mux.HandleFunc("GET /v1-rke2/apiservers", s.nodesOnly(s.apiservers))
	return mux
}

func (s *Server) cacerts(w http.ResponseWriter, _ *http.Request) {
	ca, err := s.Store.Read(pki.ServerCA)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(ca.Cert)
}

// readyz answers 403 without credentials, as RKE2 does; load balancers take
// that as a sign of life.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if !s.isServer(r) {
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	if !s.Backend.Ready() {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok"))
}

func (s *Server) serversOnly(next http.HandlerFunc) http.HandlerFunc { return s.only(s.isServer, next) }

func (s *Server) nodesOnly(next http.HandlerFunc) http.HandlerFunc { return s.only(s.isNode, next) }

func (s *Server) only(allowed func(*http.Request) bool, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !allowed(r) {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		if !s.Backend.Ready() {
			http.Error(w, "this server has not joined yet", http.StatusServiceUnavailable)
			return
		}
		next(w, r)
	}
}

func (s *Server) isServer(r *http.Request) bool {
	_, password, ok := r.BasicAuth()
	return ok && equal(password, s.Token.Password)
}

func (s *Server) isNode(r *http.Request) bool {
	_, password, ok := r.BasicAuth()
	return ok && (equal(password, s.Token.Password) || s.AgentToken != "" && equal(password, s.AgentToken))
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (s *Server) bootstrap(w http.ResponseWriter, _ *http.Request) {
	out, err := BootstrapOf(s.Store, s.Critical)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, out)
}

func (s *Server) members(w http.ResponseWriter, r *http.Request) {
	members, err := s.Backend.Members(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, map[string][]Member{"members": members})
}

func (s *Server) apiservers(w http.ResponseWriter, r *http.Request) {
	list, err := s.Backend.APIServers(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, list)
}

func (s *Server) agent(w http.ResponseWriter, r *http.Request) {
	node, ip := r.URL.Query().Get("node"), r.URL.Query().Get("ip")
	if node == "" || ip == "" {
		http.Error(w, "node and ip are needed", http.StatusBadRequest)
		return
	}
	err := s.Backend.EnsurePassword(r.Context(), node, r.Header.Get(passwordHeader))
	if errors.Is(err, ErrPassword) {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	out, err := s.issueForAgent(node, ip)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, out)
}

func (s *Server) issueForAgent(node, ip string) (Agent, error) {
	serverCA, err := s.Store.Read(pki.ServerCA)
	if err != nil {
		return Agent{}, err
	}
	clientCA, err := s.Store.Read(pki.ClientCA)
	if err != nil {
		return Agent{}, err
	}
	out := Agent{ServerCA: serverCA.Cert, ClientCA: clientCA.Cert}
	if out.Client, err = s.Store.Issue(pki.ClientCA, KubeletClient(node)); err != nil {
		return Agent{}, err
	}
	out.Serving, err = s.Store.Issue(pki.ServerCA, KubeletServing(node, ip))
	return out, err
}

// KubeletClient is the identity of a node's kubelet at the API server.
func KubeletClient(node string) pki.Subject {
	return pki.Subject{Name: "system:node:" + node, Groups: []string{"system:nodes"}}
}

// KubeletServing is the identity of a node's kubelet as a server.
func KubeletServing(node, ip string) pki.Subject {
	return pki.Subject{Name: node, Hosts: []string{node, "localhost", "127.0.0.1", ip}}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
