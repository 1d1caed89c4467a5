package clusterctl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestRegisterLeavesWhatInitLeaves(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		// `make unit` sets it; this is where it puts the binaries.
		assets, err := filepath.Abs("../../../bin/envtest")
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("KUBEBUILDER_ASSETS", assets)
	}
	environment := &envtest.Environment{CRDDirectoryPaths: []string{"../../api/crds"}, ErrorIfCRDPathMissing: true}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("start an API server (`make envtest` provides it): %v", err)
	}
	t.Cleanup(func() { _ = environment.Stop() })
	if err := Register(t.Context(), config, InLab()); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}

	entries := &clusterctlv1.ProviderList{}
	if err := c.List(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range entries.Items {
		got[p.InstanceName()] = p.Version
		if p.Name != p.ManifestLabel() || p.Labels[clusterctlv1.ClusterctlCoreLabel] != clusterctlv1.ClusterctlCoreLabelInventoryValue {
			t.Errorf("entry %s has the labels %v", p.Name, p.Labels)
		}
	}
	want := map[string]string{
		"capi-system/cluster-api": "v1.14.2", "rke2-bootstrap-system/bootstrap-rke2": "v1.0.0",
		"rke2-control-plane-system/control-plane-rke2": "v1.0.0", "lab-system/infrastructure-lab": "v1.0.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	kinds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.List(t.Context(), kinds, client.HasLabels{clusterctlv1.ClusterctlLabel}); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, kind := range kinds.Items {
		if strings.HasPrefix(kind.Spec.Names.Kind, "Lab") && kind.Labels[clusterv1.ProviderNameLabel] == "infrastructure-lab" {
			found++
		}
	}
	if found != len(kinds.Items) || found != 4 {
		t.Errorf("%d of %d labelled kinds are the lab's", found, len(kinds.Items))
	}
}
