package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rancher/wharfie/pkg/registries"
	"gopkg.in/yaml.v2"

	"github.com/drover-project/drover/lab/internal/cloudinit"
)

// TestRegistries reads the registries.yaml of the provider's documents with the types RKE2 reads it with, by their
// names in YAML: those in JSON differ.
func TestRegistries(t *testing.T) {
	documents, err := filepath.Glob("../../../../internal/render/testdata/truth/*-cloud-config-*.golden")
	if err != nil || len(documents) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, path := range append(documents, "../../../../internal/render/testdata/everything.golden") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			registry := registryOf(t, path)
			for name, config := range registry.Configs {
				if config.Auth == nil && config.TLS == nil {
					t.Errorf("%s: nothing was read", name)
				}
			}
			if strings.HasSuffix(path, "everything.golden") {
				if got := registry.Configs["other.example"].Auth; got == nil || got.IdentityToken != "t" {
					t.Errorf("the token: %+v", got)
				}
				if diff := cmp.Diff(registries.Mirror{
					Endpoints: []string{"https://mirror.example:5000"}, Rewrites: map[string]string{"^(.*)$": "hub/$1"},
				}, registry.Mirrors["docker.io"]); diff != "" {
					t.Errorf("the mirror:\n%s", diff)
				}
				return
			}
			a, b, c := registry.Configs["a.example:5000"], registry.Configs["b.example"], registry.Configs["c.example"]
			if a.Auth.Username != "u" || a.Auth.Password != "hunter2" || a.TLS.CAFile == b.TLS.CAFile || a.TLS.KeyFile == "" {
				t.Errorf("%+v, %+v; %+v", a.Auth, a.TLS, b.TLS)
			}
			if !c.TLS.InsecureSkipVerify {
				t.Errorf("%+v", c.TLS)
			}
		})
	}
}

func registryOf(t *testing.T, path string) registries.Registry {
	t.Helper()
	config, err := cloudinit.Parse(golden(t, path), "host")
	if err != nil {
		t.Fatal(err)
	}
	var registry registries.Registry
	for _, f := range config.Files {
		if f.Path != "/etc/rancher/rke2/registries.yaml" {
			continue
		}
		if err := yaml.UnmarshalStrict(f.Content, &registry); err != nil {
			t.Fatal(err)
		}
	}
	if len(registry.Configs) == 0 {
		t.Fatal("no registries.yaml")
	}
	return registry
}

// golden reads a document. What it has of template expressions is of no interest here.
func golden(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
