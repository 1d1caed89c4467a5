package upkeep

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// answering is a cluster whose servers give their authorities, or an error.
type answering struct {
	clients, peers secrets.CAPair
	err            error
	asked          int
}

func (a *answering) EtcdAuthorities(context.Context, *scope.Scope) (clients, peers secrets.CAPair, err error) {
	a.asked++
	return a.clients, a.peers, a.err
}

func hiddenScope() *scope.Scope {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m0"}}
	m.Status.NodeRef.Name = "n0"
	return &scope.Scope{
		Cluster:      &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo", UID: "1"}},
		ControlPlane: &controlplanev1.RKE2ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo"}},
		Machines:     collections.FromMachines(m),
		HiddenEtcd:   true,
	}
}

// The authorities that servers give are kept where every cluster has them.
func TestHiddenEtcdIsOpened(t *testing.T) {
	c := fake.NewFakeClient()
	other := fake.NewFakeClient()
	s := hiddenScope()
	var want [2]secrets.CAPair
	for i, purpose := range []secrets.Purpose{secrets.EtcdCA, secrets.EtcdPeerCA} {
		pair, err := secrets.EnsureCA(t.Context(), other, other, s.ClusterKey(), purpose, metav1.OwnerReference{})
		if err != nil {
			t.Fatal(err)
		}
		want[i] = pair
	}
	servers := &answering{clients: want[0], peers: want[1]}
	u := &Upkeep{Client: c, Live: c, Authorities: servers, Now: time.Now}
	if err := u.openEtcd(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for i, purpose := range []secrets.Purpose{secrets.EtcdCA, secrets.EtcdPeerCA} {
		got, err := secrets.LookupCA(t.Context(), c, s.ClusterKey(), purpose)
		if err != nil || !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%s: %v", purpose, err)
		}
	}
	if s.HiddenEtcd = false; u.openEtcd(t.Context(), s) != nil || servers.asked != 1 {
		t.Errorf("asked %d times", servers.asked)
	}
}

func TestHiddenEtcdIsAskedForNowAndThen(t *testing.T) {
	servers := &answering{err: errors.New("no supervisor answers")}
	now := time.Now()
	u := &Upkeep{Client: fake.NewFakeClient(), Authorities: servers, Now: func() time.Time { return now }}
	for i, c := range []struct {
		after time.Duration
		asked int
	}{{0, 1}, {openRetry - time.Second, 1}, {2 * time.Second, 2}} {
		now = now.Add(c.after)
		err := u.openEtcd(t.Context(), hiddenScope())
		if failed := err != nil; failed != (i != 1) || servers.asked != c.asked {
			t.Errorf("look %d: asked %d times, %v", i, servers.asked, err)
		}
	}
}

func TestNobodyIsAskedForAuthorities(t *testing.T) {
	for name, change := range map[string]func(*scope.Scope){
		"they are known":         func(s *scope.Scope) { s.HiddenEtcd = false },
		"no server has come up":  func(s *scope.Scope) { s.Machines = nil },
		"no server has its Node": func(s *scope.Scope) { s.Machines["m0"].Status.NodeRef = clusterv1.MachineNodeReference{} },
	} {
		servers, s := &answering{}, hiddenScope()
		change(s)
		if err := (&Upkeep{Authorities: servers, Now: time.Now}).openEtcd(t.Context(), s); err != nil || servers.asked > 0 {
			t.Errorf("%s: asked %d times, %v", name, servers.asked, err)
		}
	}
}
