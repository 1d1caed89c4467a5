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
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
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

// Config says what a cloud is made of.
type Config struct {
	Machines Machines
	// LabBinary and KubeBinary are the programs that machines run.
	LabBinary  string
	KubeBinary string
	// Timing of the load balancers; zero means balancer.DefaultTiming.
	Timing balancer.Timing
	Log    logr.Logger
}

// Cloud is where machines and load balancers are. A lab has one; each of its
// management clusters has a provider of its own that works with it, as several
// management clusters may use one account of a real cloud. So a cluster that is
// moved to another management cluster finds there what it had.
type Cloud struct {
	config   Config
	registry *registry
	fleet    *fleet
}

// NewCloud returns a cloud without load balancers. It works until ctx ends.
func NewCloud(ctx context.Context, config Config) *Cloud {
	if config.Timing == (balancer.Timing{}) {
		config.Timing = balancer.DefaultTiming
	}
	registry := newRegistry()
	c := &Cloud{config: config, registry: registry, fleet: newFleet(config.Machines, registry, config.Timing, config.Log)}
	go c.fleet.followMachines(ctx)
	return c
}

// Balancers returns all load balancers with their backends.
func (c *Cloud) Balancers() []Balancer { return c.fleet.list() }

// Blackhole makes the load balancer of a Cluster take everything and pass nothing on, or ends that. It tells whether
// there is one.
func (c *Cloud) Blackhole(cluster types.NamespacedName, on bool) (found bool) {
	return c.fleet.blackhole(cluster, on)
}

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

// StartProvider starts the controllers of one management cluster and returns
// once they have read all objects. They end with ctx.
func (c *Cloud) StartProvider(ctx context.Context, management *rest.Config) error {
	manager, err := ctrl.NewManager(management, ctrl.Options{
		Scheme:  Scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		Logger:  c.config.Log,
		// Each management cluster of the lab has controllers of these names, all in this process.
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return fmt.Errorf("infrastructure provider: %w", err)
	}
	machines := &machineReconciler{
		client: manager.GetClient(), machines: c.config.Machines, registry: c.registry,
		labBinary: c.config.LabBinary, kubeBinary: c.config.KubeBinary,
	}
	if err := machines.setUp(ctx, manager); err != nil {
		return fmt.Errorf("infrastructure provider: %w", err)
	}
	clusters := &clusterReconciler{client: manager.GetClient(), fleet: c.fleet}
	if err := clusters.setUp(ctx, manager); err != nil {
		return fmt.Errorf("infrastructure provider: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	select {
	case <-manager.Elected():
		// Its caches have been filled, and its controllers start.
		return nil
	case err := <-ended:
		return fmt.Errorf("infrastructure provider: %w", err)
	case <-time.After(syncTimeout):
		return errors.New("infrastructure provider: its objects cannot be read from the management cluster")
	}
}
