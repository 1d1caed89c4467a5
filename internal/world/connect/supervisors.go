package connect

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
	"github.com/drover-project/drover/internal/world/supervisor"
)

// ListFromSupervisors asks RKE2's supervisors of all servers for etcd's list and
// takes the first that comes. It is for the case that no member can be asked.
func (s *Session) ListFromSupervisors(ctx context.Context) ([]etcd.Member, error) {
	return askSupervisors(ctx, s.connector.Secrets, s.scope, "the member list", supervisor.Members)
}

// EtcdAuthorities asks the supervisors for the authorities of etcd's clients and
// of its members among themselves. They are secrets.
func (c *Connector) EtcdAuthorities(ctx context.Context, s *scope.Scope) (clients, peers secrets.CAPair, err error) {
	type pairs struct{ clients, peers secrets.CAPair }
	got, err := askSupervisors(ctx, c.Secrets, s, "etcd's authorities", func(ctx context.Context, url string, authority []byte, token string) (p pairs, err error) {
		p.clients, p.peers, err = supervisor.EtcdAuthorities(ctx, url, authority, token)
		return p, err
	})
	return got.clients, got.peers, err
}

// askSupervisors puts a question to the supervisors of all servers at once, at
// all their addresses, and takes the first answer.
func askSupervisors[T any](ctx context.Context, r client.Reader, s *scope.Scope, what string,
	ask func(ctx context.Context, url string, authority []byte, token string) (T, error),
) (T, error) {
	var none T
	authority, err := secrets.LookupCA(ctx, r, s.ClusterKey(), secrets.ServerCA)
	if err != nil {
		return none, err
	}
	token, err := secrets.LookupToken(ctx, r, s.ClusterKey())
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, supervisor.Timeout)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	var urls []string
	for _, node := range s.NodeNames() {
		for _, address := range s.AddressesOf(node) {
			urls = append(urls, supervisor.URL(address))
		}
	}
	answers := make(chan answer, len(urls))
	for _, url := range urls {
		go func() {
			value, err := ask(ctx, url, authority.Cert, token)
			answers <- answer{value, err}
		}()
	}
	problems := []error{fmt.Errorf("no supervisor gave %s", what)}
	for range urls {
		a := <-answers
		if a.err == nil {
			return a.value, nil
		}
		problems = append(problems, a.err)
	}
	return none, errors.Join(problems...)
}
