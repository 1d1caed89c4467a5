package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/drover-project/drover/lab/internal/paths"
	"github.com/drover-project/drover/lab/internal/pid1"
)

// initMain is process 1 of a machine. It makes the machine's view of the
// world, hands over to the service manager and reaps orphans.
func initMain([]string) int {
	syscall.CloseOnExec(StatusFD)
	status := os.NewFile(StatusFD, "status")
	code, err := runMachine(status)
	if err != nil {
		fmt.Fprintln(os.Stderr, "machine-init:", err)
		report(status, Report{Failure: err.Error()})
		return 1
	}
	return code
}

func runMachine(status *os.File) (int, error) {
	config, err := readConfig()
	if err != nil {
		return 0, err
	}
	if err := unix.Sethostname([]byte(config.Instance.Hostname)); err != nil {
		return 0, fmt.Errorf("set hostname %s: %w", config.Instance.Hostname, err)
	}
	if err := mountAll(config); err != nil {
		return 0, err
	}
	if err := configureNetwork(config); err != nil {
		return 0, err
	}
	if err := writeIdentity(config.Instance); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(context.Background(), paths.LabBinary, servicesApplet)
	cmd.Env = environment()
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// The first extra file becomes descriptor 3 of the child.
	cmd.ExtraFiles = []*os.File{status}
	return pid1.Run(cmd)
}

func readConfig() (Config, error) {
	var config Config
	pipe := os.NewFile(ConfigFD, "config")
	if pipe == nil {
		return config, fmt.Errorf("%s is started by the lab itself", InitApplet)
	}
	defer func() { _ = pipe.Close() }()
	if err := json.NewDecoder(pipe).Decode(&config); err != nil {
		return config, fmt.Errorf("read machine configuration: %w", err)
	}
	return config, nil
}

// environment is what every process of a machine starts with; like under
// systemd there is no HOME.
func environment() []string {
	return []string{"PATH=" + paths.SearchPath, "LANG=C.UTF-8"}
}

// report tells the machine manager something. If it is gone there is nobody
// left to tell.
func report(status *os.File, r Report) {
	_ = json.NewEncoder(status).Encode(r)
}
