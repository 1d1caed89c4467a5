package standin

import (
	"context"
	"fmt"
	"net"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/drover-project/drover/lab/internal/standin/member"
	"github.com/drover-project/drover/lab/internal/standin/supervisor"
)

var _ supervisor.Backend = (*server)(nil)

// Ready implements supervisor.Backend.
func (s *server) Ready() bool { return s.ready.Load() }

// Members implements supervisor.Backend.
func (s *server) Members(ctx context.Context) ([]supervisor.Member, error) {
	if s.dataAreElsewhere() {
		return nil, nil
	}
	list, err := member.List(ctx, s.etcd)
	if err != nil {
		return nil, err
	}
	var out []supervisor.Member
	for _, m := range list {
		out = append(out, supervisor.Member{ID: m.ID, Learner: m.IsLearner, Name: m.Name, ClientURLs: m.ClientURLs, PeerURLs: m.PeerURLs})
	}
	return out, nil
}

// APIServers implements supervisor.Backend.
func (s *server) APIServers(ctx context.Context) ([]string, error) {
	slices, err := s.kube.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=kubernetes",
	})
	if err != nil {
		return nil, fmt.Errorf("list API servers: %w", err)
	}
	var out []string
	for _, slice := range slices.Items {
		for _, e := range slice.Endpoints {
			for _, address := range e.Addresses {
				out = append(out, net.JoinHostPort(address, "6443"))
			}
		}
	}
	return out, nil
}
