package upkeep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

// asked are servers that say when their certificate expires, by node.
type asked struct {
	expiry map[string]time.Time
	err    map[string]error

	mu    sync.Mutex
	looks map[string]int
}

func (a *asked) APIServerExpiry(_ context.Context, _ *scope.Scope, node string) (time.Time, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks[node]++
	return a.expiry[node], a.err[node]
}

func TestCertificatesAreLookedAtOnceADay(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	machine := func(name, node string) *clusterv1.Machine {
		m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: types.UID(name)}}
		m.Status.NodeRef.Name = node
		return m
	}
	leaving := machine("m-leaving", "leaving")
	leaving.DeletionTimestamp = ptr.To(metav1.Now())
	scheme := runtime.NewScheme()
	if err := bootstrapv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	servers := &asked{
		expiry: map[string]time.Time{"a": now.AddDate(1, 0, 0), "near": now.AddDate(0, 0, 31), "leaving": now},
		err:    map[string]error{"silent": errors.New("no answer"), "unconnected": fmt.Errorf("a: %w", workload.ErrNotConnected)}, looks: map[string]int{},
	}
	u := &Upkeep{Client: fake.NewClientBuilder().WithScheme(scheme).Build(), Servers: servers, Now: func() time.Time { return now }}
	s := &scope.Scope{
		ControlPlane: &controlplanev1.RKE2ControlPlane{}, Cluster: &clusterv1.Cluster{}, Configs: map[string]*bootstrapv1.RKE2Config{},
		Machines: collections.FromMachines(machine("m-a", "a"), machine("m-near", "near"), machine("m-silent", "silent"), machine("m-unconnected", "unconnected"), machine("m-new", ""), leaving),
	}
	s.ControlPlane.Spec.Rollout.Before.CertificatesExpiryDays = ptr.To[int32](30)
	for name := range s.Machines {
		config := &bootstrapv1.RKE2Config{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
		if err := u.Client.Create(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	}
	// look runs the step on what the API has and returns who was asked.
	look := func() string {
		t.Helper()
		clear(servers.looks)
		for name := range s.Machines {
			config := &bootstrapv1.RKE2Config{}
			if err := u.Client.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: name}, config); err != nil {
				t.Fatal(err)
			}
			s.Configs[name] = config
		}
		if err := u.certificates(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(slices.Sorted(maps.Keys(servers.looks)))
	}
	begin := now
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "[a near silent unconnected]"},
		{time.Second, "[unconnected]"},
		{time.Minute, "[silent unconnected]"},
		{time.Hour, "[near silent unconnected]"},
		{24 * time.Hour, "[a near silent unconnected]"},
	} {
		now = begin.Add(step.after)
		if got := look(); got != step.want {
			t.Errorf("after %s %s were asked, want %s", step.after, got, step.want)
		}
	}
	servers.expiry["a"] = begin.AddDate(2, 0, 0)
	now = begin.Add(72 * time.Hour)
	look()
	look()
	for name, want := range map[string]string{"m-a": "2028-01-01T00:00:00Z", "m-near": "2026-02-01T00:00:00Z", "m-silent": "", "m-new": "", "m-leaving": ""} {
		if got := s.Configs[name].Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
