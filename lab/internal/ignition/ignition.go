// Package ignition does for a lab machine what Ignition does for a real one, as
// far as bootstrap data needs it: folders, files, links and systemd units. As in
// package cloudinit a fault stops it with an error that names the entry.
//
// The format is read and checked by Ignition's own code. Facts about the format:
// https://coreos.github.io/ignition/configuration-v3_3/
package ignition

import (
	"fmt"
	"io/fs"
	"strings"

	v3 "github.com/coreos/ignition/v2/config/v3_3"
	"github.com/coreos/ignition/v2/config/v3_3/types"
	"github.com/coreos/vcontext/report"
	"k8s.io/utils/ptr"
)

// Config is what of an Ignition config is acted on.
type Config struct {
	Directories []Directory
	Files       []File
	Links       []Link
	Units       []types.Unit
	// Ignored are the parts of the config that a lab machine does not act on.
	Ignored []string
	// Warnings are what Ignition's validator remarks without refusing the config.
	Warnings []string
}

// Node is what folders, files and links have in common.
type Node struct {
	Path string
	// Owner is USER:GROUP, by name or number; a missing part means root, or for
	// what exists, no change.
	Owner     string
	Overwrite bool
}

// Directory is an entry of storage.directories.
type Directory struct {
	Node
	// Mode is nil where the config has none.
	Mode *fs.FileMode
}

// File is an entry of storage.files with its content.
type File struct {
	Node
	// Mode is nil where the config has none.
	Mode *fs.FileMode
	// Content is nil where the config gives none.
	Content []byte
	// Appended is added to the content, or to the file that exists.
	Appended []byte
}

// Link is an entry of storage.links.
type Link struct {
	Node
	Target string
	Hard   bool
}

// Parse reads a config of Ignition 3.0 to 3.3, with the configs that it names in
// data URLs to replace it or to be merged.
func Parse(data []byte) (Config, error) {
	var config Config
	raw, err := config.resolve(data)
	if err != nil {
		return Config{}, err
	}
	config.Ignored = ignored(&raw)
	config.Units = raw.Systemd.Units
	for _, d := range raw.Storage.Directories {
		config.Directories = append(config.Directories, Directory{Node: node(d.Node), Mode: mode(d.Mode)})
	}
	for _, l := range raw.Storage.Links {
		config.Links = append(config.Links, Link{Node: node(l.Node), Target: ptr.Deref(l.Target, ""), Hard: ptr.Deref(l.Hard, false)})
	}
	for _, f := range raw.Storage.Files {
		file, err := readFile(f)
		if err != nil {
			return Config{}, fmt.Errorf("storage.files (%s): %w", f.Path, err)
		}
		config.Files = append(config.Files, file)
	}
	return config, nil
}

// resolve returns the config with those in it that replace or extend it.
func (c *Config) resolve(data []byte) (types.Config, error) {
	raw, found, err := v3.ParseCompatibleVersion(data)
	if err != nil {
		return types.Config{}, fmt.Errorf("not a valid Ignition config: %w", reported(found, err))
	}
	for _, entry := range found.Entries {
		c.Warnings = append(c.Warnings, entry.String())
	}
	if replace := raw.Ignition.Config.Replace; ptr.Deref(replace.Source, "") != "" {
		return c.resolveNamed("ignition.config.replace", replace)
	}
	merged := raw
	for i, resource := range raw.Ignition.Config.Merge {
		child, err := c.resolveNamed(fmt.Sprintf("ignition.config.merge, entry %d", i+1), resource)
		if err != nil {
			return types.Config{}, err
		}
		merged = v3.Merge(merged, child)
	}
	return merged, nil
}

func (c *Config) resolveNamed(name string, resource types.Resource) (types.Config, error) {
	data, err := fetch(resource)
	if err != nil {
		return types.Config{}, fmt.Errorf("%s: %w", name, err)
	}
	config, err := c.resolve(data)
	if err != nil {
		return types.Config{}, fmt.Errorf("%s: %w", name, err)
	}
	return config, nil
}

// reported adds the fatal findings of Ignition's validator to its error.
func reported(found report.Report, err error) error {
	var fatal []string
	for _, entry := range found.Entries {
		if entry.Kind.IsFatal() {
			fatal = append(fatal, entry.String())
		}
	}
	if len(fatal) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, strings.Join(fatal, "; "))
}

// ignored names the parts of a config that a lab machine does not act on.
func ignored(c *types.Config) []string {
	proxy, timeouts := c.Ignition.Proxy, c.Ignition.Timeouts
	var names []string
	for _, part := range []struct {
		name  string
		given bool
	}{
		{"ignition.proxy", proxy.HTTPProxy != nil || proxy.HTTPSProxy != nil || len(proxy.NoProxy) > 0},
		{"ignition.security", len(c.Ignition.Security.TLS.CertificateAuthorities) > 0},
		{"ignition.timeouts", timeouts.HTTPResponseHeaders != nil || timeouts.HTTPTotal != nil},
		{"kernelArguments", len(c.KernelArguments.ShouldExist)+len(c.KernelArguments.ShouldNotExist) > 0},
		{"passwd.groups", len(c.Passwd.Groups) > 0},
		{"passwd.users", len(c.Passwd.Users) > 0},
		{"storage.disks", len(c.Storage.Disks) > 0},
		{"storage.filesystems", len(c.Storage.Filesystems) > 0},
		{"storage.luks", len(c.Storage.Luks) > 0},
		{"storage.raid", len(c.Storage.Raid) > 0},
	} {
		if part.given {
			names = append(names, part.name)
		}
	}
	return names
}
