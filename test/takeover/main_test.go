package takeover_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/drover-project/drover/internal/act"
	product "github.com/drover-project/drover/internal/controller"
	"github.com/drover-project/drover/internal/controller/bootstrap"
	"github.com/drover-project/drover/internal/controller/controlplane"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/upkeep"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/workload"
)

// root is the folder of the module.
var root = filepath.Join("..", "..")

var (
	// api talks to the API server without a cache.
	api client.Client
	// servers and configs are the running reconcilers.
	servers *controlplane.Reconciler
	configs *bootstrap.Reconciler
	// seen is what they are made to see of workload clusters.
	seen = &workloads{}
)

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	log.SetLogger(logr.Discard())
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		assets = filepath.Join(root, "bin", "envtest")
	}
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return 0, fmt.Errorf("find the module of Cluster API: %w", err)
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths: []string{
			filepath.Join(root, "config", "crd", "bases"),
			filepath.Join(strings.TrimSpace(string(module)), "core", "config", "crd", "bases"),
		},
		CRDs:                     infrastructureDefinitions(),
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 5 * time.Minute,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 2 * time.Minute},
	}
	config, err := environment.Start()
	if err != nil {
		return 0, fmt.Errorf("start the test API server from %s: %w", assets, err)
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	stop, ended, err := start(config)
	if err != nil {
		return 0, err
	}
	code := m.Run()
	stop()
	return code, <-ended
}

// start runs both reconcilers as the product does, with everything but the
// workload clusters.
func start(config *rest.Config) (stop func(), ended chan error, err error) {
	scheme, err := product.Scheme()
	if err != nil {
		return nil, nil, err
	}
	if api, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
	})
	if err != nil {
		return nil, nil, err
	}
	c, live := mgr.GetClient(), mgr.GetAPIReader()
	connector := &connect.Connector{Secrets: c, Clusters: workload.New(unreachable{}), Members: etcd.NewPool(time.Now)}
	recorder := mgr.GetEventRecorder("test")
	seen.observer = observe.New(observe.Options{Client: c, Live: live, Connector: connector})
	servers = &controlplane.Reconciler{
		Client: c, Live: live, Observer: seen,
		Actor:    act.New(act.Options{Client: c, Live: live, Connector: connector, Recorder: recorder}),
		Keeper:   &upkeep.Upkeep{Client: c, Live: live, Nodes: unreachable{}, Now: time.Now},
		Clusters: unreachable{}, Recorder: recorder,
	}
	configs = &bootstrap.Reconciler{Client: c, APIReader: live}
	ctx, cancel := context.WithCancel(context.Background())
	options := controller.Options{MaxConcurrentReconciles: 4}
	if err := servers.SetupWithManager(mgr, nil, options); err != nil {
		cancel()
		return nil, nil, err
	}
	if err := configs.SetupWithManager(ctx, mgr, options); err != nil {
		cancel()
		return nil, nil, err
	}
	ended = make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return cancel, ended, nil
}
