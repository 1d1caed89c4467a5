package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/drover-project/drover/lab/internal/standin/pki"
)

func TestParseToken(t *testing.T) {
	for _, test := range []struct {
		text string
		want Token
		err  string
	}{
		{"secret", Token{User: "server", Password: "secret"}, ""},
		{"with:colon", Token{User: "server", Password: "with:colon"}, ""},
		{"K10abc::server:pass:word", Token{Hash: "abc", User: "server", Password: "pass:word"}, ""},
		{"K10abc::node:pw", Token{Hash: "abc", User: "node", Password: "pw"}, ""},
		{"", Token{}, "the token is empty"},
		{"K10abc", Token{}, "has not the form"},
		{"K10abc::pw", Token{}, "has not the form"},
	} {
		got, err := ParseToken(test.text)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: got %+v %v", test.text, got, err)
		}
	}
}

func TestFullTokenPinsTheAuthority(t *testing.T) {
	token, err := ParseToken(Token{User: "server", Password: "pw"}.Full([]byte("authority")))
	if err != nil || token.Hash != Hash([]byte("authority")) || token.Password != "pw" {
		t.Errorf("got %+v %v", token, err)
	}
}

type backend struct {
	ready    bool
	password string // of every node; empty for the first one to come
}

func (b *backend) EnsurePassword(_ context.Context, node, password string) error {
	if b.password == "" {
		b.password = password
	}
	if b.password != password {
		return fmt.Errorf("%w %s", ErrPassword, node)
	}
	return nil
}

func (b *backend) Ready() bool { return b.ready }

func (b *backend) Members(context.Context) ([]Member, error) {
	return []Member{{Name: "s1-00000000", ClientURLs: []string{"https://10.0.0.1:2379"}}}, nil
}

func (b *backend) APIServers(context.Context) ([]string, error) {
	return []string{"10.0.0.1:6443"}, nil
}

// serve starts a supervisor and returns it with its URL.
func serve(t *testing.T) (*Server, *backend, string) {
	t.Helper()
	store := pki.Store{Dir: t.TempDir()}
	if err := store.Ensure(); err != nil {
		t.Fatal(err)
	}
	serving, err := store.Issue(pki.ServerCA, pki.Subject{Name: "rke2", Hosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{ready: true}
	s := &Server{
		Store: store, Token: Token{User: "server", Password: "secret"}, AgentToken: "other",
		Critical: map[string]string{"cluster-domain": "cluster.local"}, Backend: b,
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, listener, serving) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, b, "https://" + listener.Addr().String()
}

func connect(t *testing.T, url, token string) (*Client, error) {
	t.Helper()
	parsed, err := ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	return Connect(t.Context(), url, parsed)
}

func TestServerTokenGetsEverything(t *testing.T) {
	s, _, url := serve(t)
	ca, err := s.Store.Read(pki.ServerCA)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"secret", s.Token.Full(ca.Cert)} {
		client, err := connect(t, url, token)
		if err != nil {
			t.Fatal(err)
		}
		bootstrap, err := client.Bootstrap(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append([]string{pki.ServiceKey}, pki.Authorities...) {
			if len(bootstrap.Files[name].Key) == 0 {
				t.Errorf("no key of %s", name)
			}
		}
		if bootstrap.Critical["cluster-domain"] != "cluster.local" {
			t.Errorf("critical: %v", bootstrap.Critical)
		}
		if members, err := client.Members(t.Context()); err != nil || len(members) != 1 {
			t.Errorf("members: %v %v", members, err)
		}
	}
}

func TestAgentTokenGetsNoSecretsOfTheCluster(t *testing.T) {
	_, _, url := serve(t)
	client, err := connect(t, url, "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Bootstrap(t.Context()); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("bootstrap: %v", err)
	}
	if _, err := client.Members(t.Context()); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("members: %v", err)
	}
	agent, err := client.Agent(t.Context(), "w1", "10.0.0.9", "mine")
	if err != nil || len(agent.Client.Key) == 0 || len(agent.Serving.Key) == 0 {
		t.Errorf("agent: %v", err)
	}
	if _, err := client.Agent(t.Context(), "w1", "10.0.0.8", "another's"); err == nil || !strings.Contains(err.Error(), "403 Forbidden: unable to verify password for node w1") {
		t.Errorf("another machine under the same name: %v", err)
	}
	if list, err := client.APIServers(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("API servers: %v %v", list, err)
	}
}

func TestWrongTokenAndAuthority(t *testing.T) {
	_, _, url := serve(t)
	client, err := connect(t, url, "wrong")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Agent(t.Context(), "w1", "10.0.0.9", "mine"); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("wrong token: %v", err)
	}
	_, err = connect(t, url, "K10"+Hash([]byte("another"))+"::server:secret")
	if err == nil || !strings.Contains(err.Error(), "token CA hash does not match") || strings.Contains(err.Error(), "secret") {
		t.Errorf("wrong authority: %v", err)
	}
	if _, err := connect(t, "http://127.0.0.1:1", "secret"); err == nil || !strings.Contains(err.Error(), "expected https://") {
		t.Errorf("wrong URL: %v", err)
	}
}

func TestNobodyJoinsThroughAServerThatHasNotJoined(t *testing.T) {
	_, b, url := serve(t)
	b.ready = false
	client, err := connect(t, url, "secret")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Bootstrap(t.Context()); err == nil || !strings.Contains(err.Error(), "has not joined yet") {
		t.Errorf("got %v", err)
	}
}
