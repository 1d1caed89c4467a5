// Package clusterctl runs Cluster API's own command line tool, unmodified, and
// lays down in a management cluster what it keeps there.
package clusterctl

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/beside"
)

// timeout bounds a run whose context has no deadline.
const timeout = 10 * time.Minute

// Command is a clusterctl that reads and writes nothing outside of one folder.
type Command struct {
	// Binary is the path of the program.
	Binary string
	// Home is the folder that it takes for its user's; it is made when it is missing.
	Home string
}

// Beside returns the clusterctl that was built beside this program.
func Beside(home string) (Command, error) {
	binary, err := beside.Program("clusterctl")
	if err != nil {
		return Command{}, err
	}
	return Command{Binary: binary, Home: home}, nil
}

// Config is clusterctl's configuration file.
type Config struct {
	// Providers are where components come from. clusterctl knows those of the
	// Cluster API community by itself.
	Providers []Repository
	// Images say, by the name of a provider, from where its images come.
	Images map[string]Image
	// Variables are written beside the providers; a template may name them.
	Variables map[string]string
}

// Repository is where the components of one provider are.
type Repository struct {
	Name string `json:"name"`
	// URL is the path of the components' file, or its address.
	URL string `json:"url"`
	// Type is a clusterctl provider type, for example BootstrapProvider.
	Type string `json:"type"`
}

// Image replaces a part of an image's name.
type Image struct {
	// Repository stands before the image's own, last part.
	Repository string `json:"repository,omitempty"`
	Tag        string `json:"tag,omitempty"`
}

// file renders the configuration; variables stand at its top level.
func (c Config) file() ([]byte, error) {
	content := map[string]any{}
	for name, value := range c.Variables {
		content[name] = value
	}
	if len(c.Providers) > 0 {
		content["providers"] = c.Providers
	}
	if len(c.Images) > 0 {
		content["images"] = c.Images
	}
	data, err := yaml.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("clusterctl configuration: %w", err)
	}
	return data, nil
}

// Run runs clusterctl and copies what it prints to out. When it fails, its last
// words are in out and its exit code is in the error.
func (c Command) Run(ctx context.Context, out io.Writer, config Config, args ...string) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	file, err := c.writeConfig(config)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c.Binary, append(args, "--config="+file)...)
	cmd.Dir = c.Home
	cmd.Env = c.environment()
	cmd.Stdout, cmd.Stderr = out, out
	// A tool that is told to stop must not hang on what it has started.
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("clusterctl %s: %w", args[0], err)
	}
	return nil
}

func (c Command) writeConfig(config Config) (path string, err error) {
	data, err := config.file()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(c.Home, 0o700); err != nil {
		return "", fmt.Errorf("make clusterctl's home: %w", err)
	}
	path = filepath.Join(c.Home, "clusterctl.yaml")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("write clusterctl configuration: %w", err)
	}
	return path, nil
}

// environment holds nothing of this process's own, so that neither a kubeconfig
// nor a proxy nor a token of the user's has a say, and it looks for no newer
// version of itself in the network.
func (c Command) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + c.Home,
		"XDG_CONFIG_HOME=" + filepath.Join(c.Home, "config"),
		"XDG_CACHE_HOME=" + filepath.Join(c.Home, "cache"),
		"XDG_DATA_HOME=" + filepath.Join(c.Home, "data"),
		"TMPDIR=" + c.Home,
		"CLUSTERCTL_DISABLE_VERSIONCHECK=true",
		"GOPROXY=off",
	}
}
