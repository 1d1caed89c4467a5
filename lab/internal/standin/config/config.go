// Package config reads RKE2's config.yaml. All settings of RKE2 are known by
// key, so that a misspelt one is refused.
package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Dir is where RKE2 looks for config.yaml and the folder config.yaml.d.
const Dir = "/etc/rancher/rke2"

// DefaultDataDir is RKE2's data-dir.
const DefaultDataDir = "/var/lib/rancher/rke2"

// Config is a node's configuration.
type Config struct{ values settings }

// Load reads config.yaml and then config.yaml.d/*.yaml of the folder. Errors
// name the file and key, never a value that could be secret.
func Load(dir string) (Config, error) {
	values, err := readSettings(filepath.Join(dir, "config.yaml"))
	if err != nil {
		return Config{}, err
	}
	c := Config{values: values}
	if err := c.check(); err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

func (c Config) check() error {
	if err := c.values.check(); err != nil {
		return err
	}
	if server := c.String("server"); server != "" {
		if u, err := url.Parse(server); err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("key %q: %q is not an https:// URL", "server", server)
		}
	}
	for _, endpoint := range c.Datastore() {
		if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return errors.New(`key "datastore-endpoint": the lab's stand-in for RKE2 can use an etcd only, by http:// or https:// URLs`)
		}
	}
	for _, key := range []string{"node-ip", "advertise-address"} {
		for _, value := range c.List(key) {
			if _, err := netip.ParseAddr(value); err != nil {
				return fmt.Errorf("key %q: %q is not an IP address", key, value)
			}
		}
	}
	for _, key := range []string{"cluster-cidr", "service-cidr"} {
		for _, value := range c.List(key) {
			if _, err := netip.ParsePrefix(value); err != nil {
				return fmt.Errorf("key %q: %q is not an address range", key, value)
			}
		}
	}
	return nil
}

// String is the value of a key, "" when it is not set. Of a list it is the
// first item.
func (c Config) String(key string) string { return c.StringOr(key, "") }

// StringOr is the value of a key, or the given one when it is not set.
func (c Config) StringOr(key, otherwise string) string {
	if values := c.List(key); len(values) > 0 && values[0] != "" {
		return values[0]
	}
	return otherwise
}

// Bool is false when the key is not set.
func (c Config) Bool(key string) bool {
	// Load has looked at the value.
	on, _ := strconv.ParseBool(c.StringOr(key, "false"))
	return on
}

// List gives the items of a key. Items of addresses and names may stand
// together between commas; arguments of components are left as they are.
func (c Config) List(key string) []string {
	if !slices.Contains(commaKeys, key) {
		return c.values[key]
	}
	var items []string
	for _, value := range c.values[key] {
		for item := range strings.SplitSeq(value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
	}
	return items
}

// DataDir is RKE2's data folder.
func (c Config) DataDir() string { return c.StringOr("data-dir", DefaultDataDir) }

// Datastore are the endpoints of an external datastore, none if the servers
// keep the data themselves.
func (c Config) Datastore() []string { return c.List("datastore-endpoint") }

// ClusterDomain is the cluster's DNS domain.
func (c Config) ClusterDomain() string { return c.StringOr("cluster-domain", "cluster.local") }

// ClusterCIDR is the pods' address ranges, joined by commas.
func (c Config) ClusterCIDR() string { return c.ranges("cluster-cidr", "10.42.0.0/16") }

// ServiceCIDR is the services' address ranges, joined by commas.
func (c Config) ServiceCIDR() string { return c.ranges("service-cidr", "10.43.0.0/16") }

// ClusterDNS is the address of the DNS service: the tenth of the services',
// unless set.
func (c Config) ClusterDNS() string {
	if dns := c.List("cluster-dns"); len(dns) > 0 {
		return strings.Join(dns, ",")
	}
	first, _, _ := strings.Cut(c.ServiceCIDR(), ",")
	prefix, err := netip.ParsePrefix(first)
	if err != nil {
		return ""
	}
	address := prefix.Masked().Addr()
	for range 10 {
		address = address.Next()
	}
	return address.String()
}

func (c Config) ranges(key, otherwise string) string {
	if values := c.List(key); len(values) > 0 {
		return strings.Join(values, ",")
	}
	return otherwise
}

// Critical are the settings on which all servers of a cluster must agree
// (https://docs.rke2.io/reference/server_config, "Critical Configuration
// Values"), by key. Of the agent token only a digest is among them.
func (c Config) Critical() map[string]string {
	return map[string]string{
		"agent-token":              digest(c.String("agent-token")),
		"cluster-cidr":             c.ClusterCIDR(),
		"service-cidr":             c.ServiceCIDR(),
		"cluster-dns":              c.ClusterDNS(),
		"cluster-domain":           c.ClusterDomain(),
		"egress-selector-mode":     c.StringOr("egress-selector-mode", "agent"),
		"disable-cloud-controller": strconv.FormatBool(c.Bool("disable-cloud-controller")),
		"disable-kube-proxy":       strconv.FormatBool(c.Bool("disable-kube-proxy")),
	}
}

func digest(secret string) string {
	if secret == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
