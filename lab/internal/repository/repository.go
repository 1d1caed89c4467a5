// Package repository lays out a clusterctl local repository: a folder from which
// clusterctl installs Cluster API's core, Drover's release and the laboratory's
// infrastructure without a network.
package repository

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/drover-project/drover/lab/internal/beside"
	"github.com/drover-project/drover/lab/internal/clusterctl"
)

// RKE2 is the name of Drover's providers, as users of clusterctl write it.
const RKE2 = "rke2"

// Infrastructure is the name of the laboratory's infrastructure provider.
const Infrastructure = "lab"

// Sources are folders with what is laid out.
type Sources struct {
	// Core holds core-components.yaml and metadata.yaml of Cluster API. The
	// folder's own name is the version.
	Core string
	// Release is what `make release` makes for Drover.
	Release string
}

// Beside returns the sources that were made beside this program.
func Beside() (Sources, error) {
	bin, err := beside.Dir()
	if err != nil {
		return Sources{}, err
	}
	dir := filepath.Join(bin, "repository")
	s := Sources{Release: filepath.Join(dir, RKE2)}
	found, err := filepath.Glob(filepath.Join(dir, "cluster-api", "v*", coreComponents))
	if err != nil || len(found) != 1 {
		return s, errors.Join(err, fmt.Errorf("%s holds %d versions of Cluster API, not 1; run `make build`", dir, len(found)))
	}
	s.Core = filepath.Dir(found[0])
	if _, err := os.Stat(filepath.Join(s.Release, bootstrapComponents)); err != nil {
		return s, fmt.Errorf("the release that is to be installed is missing; run `make build`: %w", err)
	}
	return s, nil
}

const (
	coreComponents           = "core-components.yaml"
	bootstrapComponents      = "bootstrap-components.yaml"
	controlPlaneComponents   = "control-plane-components.yaml"
	infrastructureComponents = "infrastructure-components.yaml"
	metadataFile             = "metadata.yaml"
)

// Repository is a local repository that has been laid out.
type Repository struct {
	// Dir is its folder.
	Dir string
	// Core and Drover are the versions in it.
	Core, Drover string
}

// Lay lays a repository out in a folder that need not exist.
func Lay(dir string, from Sources) (Repository, error) {
	r := Repository{Dir: dir, Core: filepath.Base(from.Core)}
	var err error
	if r.Drover, err = releasedVersion(filepath.Join(from.Release, bootstrapComponents)); err != nil {
		return r, err
	}
	for _, p := range r.providers() {
		target := filepath.Dir(p.path)
		if err := os.MkdirAll(target, 0o755); err != nil {
			return r, fmt.Errorf("lay out repository: %w", err)
		}
		switch p.Name {
		case Infrastructure:
			err = writeInfrastructure(target)
		case RKE2:
			err = os.CopyFS(target, os.DirFS(from.Release))
		default:
			err = copyFiles(target, from.Core, coreComponents, metadataFile)
		}
		if err != nil {
			return r, fmt.Errorf("lay out repository: provider %s: %w", p.Name, err)
		}
	}
	return r, nil
}

// provider is an entry of the repository.
type provider struct {
	Name string
	Type clusterctlv1.ProviderType
	path string // of its components
}

func (r Repository) providers() []provider {
	entry := func(name string, kind clusterctlv1.ProviderType, version, components string) provider {
		return provider{name, kind, filepath.Join(r.Dir, clusterctlv1.ManifestLabel(name, kind), version, components)}
	}
	return []provider{
		entry("cluster-api", clusterctlv1.CoreProviderType, r.Core, coreComponents),
		entry(RKE2, clusterctlv1.BootstrapProviderType, r.Drover, bootstrapComponents),
		entry(RKE2, clusterctlv1.ControlPlaneProviderType, r.Drover, controlPlaneComponents),
		entry(Infrastructure, clusterctlv1.InfrastructureProviderType, infrastructureVersion, infrastructureComponents),
	}
}

// Asset is the path of a file of Drover's release.
func (r Repository) Asset(name string) string {
	return filepath.Join(r.Dir, clusterctlv1.ManifestLabel(RKE2, clusterctlv1.BootstrapProviderType), r.Drover, name)
}

// Config is the configuration with which clusterctl uses this repository and
// no other.
func (r Repository) Config() clusterctl.Config {
	config := clusterctl.Config{
		// The manifests in the module name the image of its main branch.
		Images: map[string]clusterctl.Image{"cluster-api": {Repository: "registry.k8s.io/cluster-api", Tag: r.Core}},
	}
	for _, p := range r.providers() {
		location := url.URL{Scheme: "file", Path: p.path}
		config.Providers = append(config.Providers, clusterctl.Repository{Name: p.Name, Type: string(p.Type), URL: location.String()})
	}
	return config
}

// AddRelease adds one more version of Drover, so that there is one to upgrade
// to. Its manifests are those of the version that is there already, with the
// image of the new one.
func (r Repository) AddRelease(version string) error {
	for _, p := range r.providers() {
		if p.Name != RKE2 {
			continue
		}
		current := filepath.Dir(p.path)
		target := filepath.Join(filepath.Dir(current), version)
		if err := os.MkdirAll(target, 0o755); err != nil {
			return fmt.Errorf("add release %s: %w", version, err)
		}
		if err := copyFiles(target, current, metadataFile); err != nil {
			return fmt.Errorf("add release %s: %w", version, err)
		}
		components, err := os.ReadFile(p.path)
		if err != nil {
			return fmt.Errorf("add release %s: %w", version, err)
		}
		changed := strings.ReplaceAll(string(components), droverImage+":"+r.Drover, droverImage+":"+version)
		if changed == string(components) {
			return fmt.Errorf("add release %s: %s does not name the image %s:%s", version, p.path, droverImage, r.Drover)
		}
		if err := os.WriteFile(filepath.Join(target, filepath.Base(p.path)), []byte(changed), 0o644); err != nil {
			return fmt.Errorf("add release %s: %w", version, err)
		}
	}
	return nil
}

func copyFiles(target, source string, names ...string) error {
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(target, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
