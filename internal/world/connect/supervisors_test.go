package connect

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// serversAt is a cluster with a server at each address.
func serversAt(addresses ...string) *scope.Scope {
	s := &scope.Scope{
		Cluster:  &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "c"}},
		Machines: collections.Machines{},
	}
	for _, address := range addresses {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m-" + address}}
		m.Status.NodeRef.Name = "n-" + address
		m.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: address}}
		s.Machines.Insert(m)
	}
	return s
}

// withSecrets holds what it takes to ask a supervisor.
func withSecrets(t *testing.T) client.Client {
	t.Helper()
	c := fake.NewFakeClient()
	key := client.ObjectKey{Namespace: "demo", Name: "c"}
	_, err := secrets.EnsureCA(t.Context(), c, c, key, secrets.ServerCA, metav1.OwnerReference{})
	_, tokenErr := secrets.EnsureToken(t.Context(), c, c, key, metav1.OwnerReference{})
	if err = errors.Join(err, tokenErr); err != nil {
		t.Fatal(err)
	}
	return c
}

// One server that answers is enough, whatever the others do.
func TestTheFirstSupervisorThatAnswersIsHeard(t *testing.T) {
	ask := func(ctx context.Context, url string, authority []byte, token string) (string, error) {
		switch {
		case len(authority) == 0 || token == "":
			return "", errors.New("asked without credentials")
		case url == "https://10.0.0.1:9345":
			return "", errors.New("connection refused")
		case url == "https://[fd00::2]:9345":
			return "the answer", nil
		default:
			<-ctx.Done()
			return "", ctx.Err()
		}
	}
	got, err := askSupervisors(t.Context(), withSecrets(t), serversAt("10.0.0.1", "fd00::2", "10.0.0.3"), "it", ask)
	if got != "the answer" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNoSupervisorAnswers(t *testing.T) {
	refuse := func(context.Context, string, []byte, string) (string, error) {
		return "", errors.New("connection refused")
	}
	for name, c := range map[string]struct {
		secrets client.Client
		servers *scope.Scope
		want    []string
	}{
		"no server":    {withSecrets(t), serversAt(), []string{"no supervisor gave it"}},
		"all refuse":   {withSecrets(t), serversAt("10.0.0.1", "10.0.0.2"), []string{"no supervisor gave it", "connection refused\nconnection refused"}},
		"no authority": {fake.NewFakeClient(), serversAt("10.0.0.1"), []string{"Secret demo/c-ca: it does not exist"}},
	} {
		_, err := askSupervisors(t.Context(), c.secrets, c.servers, "it", refuse)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
