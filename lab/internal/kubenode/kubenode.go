// Package kubenode makes a lab machine a node of the management cluster: with
// the real kubelet, the lab's container runtime, and room for one pod, because
// pods share their machine's network and would take each other's ports.
package kubenode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/cri"
	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/kubelet"
	"github.com/drover-project/drover/lab/internal/kubeprogram"
	"github.com/drover-project/drover/lab/internal/paths"
)

// Applet is the hidden command, and the machine's service, that runs Main.
const Applet = guest.NodeService

const (
	// settingsDir holds what the user data brings: see UserData.
	settingsDir = "/etc/kubernetes"
	kubeconfig  = settingsDir + "/kubelet.kubeconfig"
	clientCA    = settingsDir + "/ca.crt"
	imagesFile  = settingsDir + "/images.json"

	settingsFile  = "/var/lib/kubelet/config.yaml"
	runtimeSocket = "/run/lab/cri/cri.sock"
	runtimeLog    = "/var/log/cri.log"
	// runtimeTimeout bounds the start of the container runtime, which takes a moment.
	runtimeTimeout = 10 * time.Second
	// kubeletGrace is how long the kubelet may take to end.
	kubeletGrace = 10 * time.Second
)

// Main runs the container runtime and the kubelet until it gets SIGTERM or one
// of them ends, and returns the exit code.
func Main(args []string) int {
	if len(args) != 0 {
		fmt.Fprintln(os.Stderr, Applet+" takes no arguments")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, Applet+":", err)
		return 1
	}
	return 0
}

func run(ctx context.Context) error {
	instance, err := readInstance()
	if err != nil {
		return err
	}
	if err := writeSettings(instance); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(fmt.Errorf("container runtime: %w", runRuntime(ctx, instance)))
	}()
	err = awaitRuntime(ctx)
	if err == nil {
		err = runKubelet(ctx, instance)
	}
	cancel(err)
	<-ended
	return context.Cause(ctx)
}

func readInstance() (guest.Instance, error) {
	var instance guest.Instance
	data, err := os.ReadFile(paths.InstanceFile)
	if err != nil {
		return instance, fmt.Errorf("instance metadata: %w", err)
	}
	if err := json.Unmarshal(data, &instance); err != nil {
		return instance, fmt.Errorf("instance metadata: %w", err)
	}
	return instance, nil
}

func writeSettings(instance guest.Instance) error {
	for _, dir := range kubelet.Folders {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("folder of the kubelet: %w", err)
		}
	}
	settings := kubelet.Settings(kubelet.Paths{ClientCA: clientCA, RuntimeSocket: runtimeSocket})
	settings.MaxPods = 1
	settings.ProviderID = instance.ProviderID
	data, err := yaml.Marshal(settings)
	if err != nil {
		return fmt.Errorf("settings of the kubelet: %w", err)
	}
	if err := os.WriteFile(settingsFile, data, 0o600); err != nil {
		return fmt.Errorf("settings of the kubelet: %w", err)
	}
	return nil
}

func runRuntime(ctx context.Context, instance guest.Instance) error {
	images, err := cri.ReadCatalog(imagesFile)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(runtimeSocket), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(runtimeLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	return cri.Run(ctx, cri.Options{Socket: runtimeSocket, NodeIP: instance.IP.String(), Images: images, Log: log})
}

// awaitRuntime waits until the runtime answers, without which the kubelet ends at once.
func awaitRuntime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, runtimeTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !cri.Answers(ctx, runtimeSocket) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the container runtime does not answer: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

// runKubelet returns when the kubelet has ended, which it does on its own only
// when it cannot go on; the service manager then starts all of this again.
func runKubelet(ctx context.Context, instance guest.Instance) error {
	cmd := exec.CommandContext(ctx, paths.KubeBinary, "kubelet",
		"--config="+settingsFile, "--kubeconfig="+kubeconfig, "--hostname-override="+instance.Name,
		"--root-dir=/var/lib/kubelet", "--cert-dir=/var/lib/kubelet/pki", "--node-ip="+instance.IP.String())
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = kubeletGrace
	// Not this process's environment: the kubelet would announce a readiness of its own.
	cmd.Env = append(kubeprogram.Environment(), "PATH="+paths.SearchPath, "HOME=/root")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start kubelet: %w", err)
	}
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		return errors.Join(fmt.Errorf("tell the service manager: %w", err), cmd.Cancel(), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}
	return errors.New("the kubelet has ended")
}
