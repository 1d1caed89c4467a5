package cloudinit

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/drover-project/drover/lab/internal/paths"
	"github.com/drover-project/drover/lab/internal/userdata"
)

// scriptFile is where cloud-init keeps the script made of runcmd.
const scriptFile = "/var/lib/cloud/instance/scripts/runcmd"

// Main works off the user data file that args name, on the machine it runs on.
func Main(args []string) int {
	return userdata.Main("cloud-init", args, func(ctx context.Context, data []byte, log io.Writer) error {
		hostname, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find hostname: %w", err)
		}
		return Run(ctx, data, hostname, "", log)
	})
}

// Run works off user data below root ("" on a machine): all files, then the
// commands. Nothing is done when the data cannot be read in full, and no
// command runs when a file could not be written. Errors name the entry at fault.
// When ctx ends, so does the running command.
func Run(ctx context.Context, data []byte, hostname, root string, log io.Writer) error {
	config, err := Parse(data, hostname)
	if err != nil {
		return err
	}
	for _, key := range config.Ignored {
		_, _ = fmt.Fprintf(log, "cloud-init: the key %q has no effect on a lab machine\n", key)
	}
	for _, deferred := range []bool{false, true} {
		for _, file := range config.Files {
			if file.Defer != deferred {
				continue
			}
			note, err := file.Write(root)
			if err != nil {
				return err
			}
			if note != "" {
				_, _ = fmt.Fprintln(log, "cloud-init:", note)
			}
		}
	}
	if len(config.Commands) == 0 {
		return nil
	}
	return runScript(ctx, Script(config.Commands), root, log)
}

func runScript(ctx context.Context, script []byte, root string, log io.Writer) error {
	path := filepath.Join(root, scriptFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write runcmd: %w", err)
	}
	if err := os.WriteFile(path, script, 0o700); err != nil {
		return fmt.Errorf("write runcmd: %w", err)
	}
	// Under an interpreter named here, as with cloud-init's "#!/bin/sh"; this way
	// it also runs where the folder may not hold programs (noexec).
	cmd := exec.CommandContext(ctx, "/bin/sh", path)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("runcmd: %w (output in %s)", err, paths.CloudInitLog)
	}
	return nil
}
