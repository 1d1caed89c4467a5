package incumbent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// api is a real API server with the kinds of Cluster API, the lab and RKE2, and without any controller.
var api client.Client

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		// `make unit` sets it; this is where it puts the binaries.
		assets, err := filepath.Abs("../../../bin/envtest")
		if err != nil {
			return fail(err)
		}
		if err := os.Setenv("KUBEBUILDER_ASSETS", assets); err != nil {
			return fail(err)
		}
	}
	core, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return fail(fmt.Errorf("find Cluster API's kinds: %w", err))
	}
	environment := &envtest.Environment{
		CRDDirectoryPaths: []string{
			"../../api/crds", "../../../config/crd/bases", filepath.Join(strings.TrimSpace(string(core)), "core/config/crd/bases"),
		},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	if err != nil {
		return fail(fmt.Errorf("start an API server (`make envtest` provides it): %w", err))
	}
	defer func() { _ = environment.Stop() }()
	ctrl.SetLogger(logr.Discard())
	scheme := clientgoscheme.Scheme
	if err := clusterv1.AddToScheme(scheme); err != nil {
		return fail(err)
	}
	if api, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fail(err)
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
