// Package infra is the lab's infrastructure provider: it boots a machine for
// each LabMachine and runs a load balancer for each LabCluster, according to
// Cluster API's contract v1beta2 for infrastructure providers.
package infra

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	labv1 "github.com/drover-project/drover/lab/api/v1beta2"
	"github.com/drover-project/drover/lab/internal/balancer"
	"github.com/drover-project/drover/lab/internal/machine"
)

// syncTimeout bounds the first reading of all objects.
const syncTimeout = time.Minute

// Machines is what the provider needs of the machine manager.
type Machines interface {
	Boot(ctx context.Context, spec machine.Spec) (machine.Info, error)
	Get(name string) (machine.Info, bool)
	List() []machine.Info
	Remove(name string) error
	Watch(ctx context.Context) <-chan machine.Info
	AddServiceAddress() (netip.Addr, error)
	RemoveServiceAddress(address netip.Addr) error
}

// Config says where the provider runs.
type Config struct {
	// REST is access to the management cluster.
	REST     *rest.Config
	Machines Machines
	// LabBinary and KubeBinary are the programs that machines run.
	LabBinary  string
	KubeBinary string
	// Timing of the load balancers; zero means balancer.DefaultTiming.
	Timing balancer.Timing
	Log    logr.Logger
}

// Infrastructure is the running provider.
type Infrastructure struct{ fleet *fleet }

// Scheme returns a scheme with the kinds that the provider reads and writes.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, labv1.AddToScheme, clientgoscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			// Only types that are not Kubernetes objects fail.
			panic(err)
		}
	}
	return scheme
}

// Start starts the controllers and returns once they have read all objects.
// They end with ctx.
func Start(ctx context.Context, config Config) (*Infrastructure, error) {
	if config.Timing == (balancer.Timing{}) {
		config.Timing = balancer.DefaultTiming
	}
	manager, err := ctrl.NewManager(config.REST, ctrl.Options{
		Scheme:  Scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		Logger:  config.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("infrastructure provider: %w", err)
	}
	registry := newRegistry()
	fleet := newFleet(config.Machines, registry, config.Timing, config.Log)
	machines := &machineReconciler{
		client: manager.GetClient(), machines: config.Machines, registry: registry,
		labBinary: config.LabBinary, kubeBinary: config.KubeBinary,
	}
	if err := machines.setUp(ctx, manager); err != nil {
		return nil, fmt.Errorf("infrastructure provider: %w", err)
	}
	clusters := &clusterReconciler{client: manager.GetClient(), fleet: fleet}
	if err := clusters.setUp(ctx, manager); err != nil {
		return nil, fmt.Errorf("infrastructure provider: %w", err)
	}
	go fleet.followMachines(ctx)

	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	select {
	case <-manager.Elected():
		// Its caches have been filled, and its controllers start.
	case err := <-ended:
		return nil, fmt.Errorf("infrastructure provider: %w", err)
	case <-time.After(syncTimeout):
		return nil, errors.New("infrastructure provider: its objects cannot be read from the management cluster")
	}
	return &Infrastructure{fleet: fleet}, nil
}

// Balancers returns all load balancers with their backends.
func (i *Infrastructure) Balancers() []Balancer { return i.fleet.list() }
