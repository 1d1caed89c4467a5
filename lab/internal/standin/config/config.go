// Package config reads the configuration of the RKE2 stand-in from the same
// files, in the same order and under the same names as RKE2 does
// (https://docs.rke2.io/install/configuration).
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Dir is where RKE2 looks for config.yaml and config.yaml.d.
const Dir = "/etc/rancher/rke2"

// DefaultDataDir is RKE2's data-dir.
const DefaultDataDir = "/var/lib/rancher/rke2"

// Config holds the settings by RKE2's own names.
type Config struct{ values map[string]any }

// Load reads config.yaml and then config.yaml.d/*.yaml in alphabetical order
// below dir. A later value wins; a key that ends in "+" appends to a list. A
// file that is missing is no error, a key that RKE2 does not know is.
func Load(dir string) (Config, error) {
	c := Config{values: map[string]any{}}
	files := []string{filepath.Join(dir, "config.yaml")}
	more, err := filepath.Glob(filepath.Join(dir, "config.yaml.d", "*.yaml"))
	if err != nil {
		return Config{}, fmt.Errorf("list %s: %w", dir, err)
	}
	for _, file := range append(files, more...) {
		if err := c.merge(file); err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

func (c Config) merge(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &values); err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, appends := strings.CutSuffix(key, "+")
		if !known[name] {
			return fmt.Errorf("%s: unknown key %q: RKE2 has no such option", file, name)
		}
		if appends {
			c.values[name] = append(list(c.values[name]), list(values[key])...)
			continue
		}
		c.values[name] = values[key]
	}
	return nil
}

// String is the value of a key that holds one value; a list is joined by
// commas, as RKE2 accepts both for its CIDRs.
func (c Config) String(key string) string { return strings.Join(c.List(key), ",") }

// StringOr is String, or a default where it is empty.
func (c Config) StringOr(key, fallback string) string {
	if v := c.String(key); v != "" {
		return v
	}
	return fallback
}

// List is the value of a key that may be given once or many times.
func (c Config) List(key string) []string { return list(c.values[key]) }

// Bool tells whether a switch is on.
func (c Config) Bool(key string) bool { return c.String(key) == "true" }

// DataDir is where RKE2 keeps its state.
func (c Config) DataDir() string { return c.StringOr("data-dir", DefaultDataDir) }

// Critical are the settings that all servers of a cluster must share. A server
// that joins with another value is refused by RKE2 with "critical
// configuration value mismatch" (https://docs.rke2.io/install/ha).
func (c Config) Critical() map[string]string {
	return map[string]string{
		"cluster-cidr":             c.StringOr("cluster-cidr", "10.42.0.0/16"),
		"service-cidr":             c.ServiceCIDR(),
		"cluster-dns":              c.StringOr("cluster-dns", "10.43.0.10"),
		"cluster-domain":           c.ClusterDomain(),
		"disable-cloud-controller": fmt.Sprint(c.Bool("disable-cloud-controller")),
		"disable-kube-proxy":       fmt.Sprint(c.Bool("disable-kube-proxy")),
		"egress-selector-mode":     c.StringOr("egress-selector-mode", "agent"),
	}
}

// ServiceCIDR is the range of service addresses.
func (c Config) ServiceCIDR() string { return c.StringOr("service-cidr", "10.43.0.0/16") }

// ClusterDomain is the DNS domain of services.
func (c Config) ClusterDomain() string { return c.StringOr("cluster-domain", "cluster.local") }

func list(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		out := make([]string, 0, len(v))
		for _, item := range v {
			out = append(out, fmt.Sprint(item))
		}
		return out
	case []string:
		return slices.Clone(v)
	default:
		if s := fmt.Sprint(v); s != "" {
			return []string{s}
		}
		return nil
	}
}
