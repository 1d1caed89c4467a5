package standin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/drover-project/drover/lab/internal/cri"
	"github.com/drover-project/drover/lab/internal/paths"
)

// criSocket is where RKE2's containerd listens.
const criSocket = "/run/k3s/containerd/containerd.sock"

// startRuntime starts the container runtime, unless one is running. It lives
// on when the service stops, as the shims of containerd do.
func (n *node) startRuntime(ctx context.Context) error {
	if cri.Answers(ctx, criSocket) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(criSocket), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile("/var/log/cri.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// Not bound to ctx: it outlives this process on purpose.
	cmd := exec.Command(paths.LabBinary, "cri", "--socket", criSocket, "--node-ip", n.ip()) //nolint:noctx // see above
	cmd.Env = childEnvironment()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start container runtime: %w", err)
	}
	go func() { _ = cmd.Wait() }()
	return until(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) { return cri.Answers(ctx, criSocket), nil })
}

// keepRunning runs a program again and again until the context ends. The
// kernel kills it when this process dies, as it does RKE2's kubelet.
func (n *node) keepRunning(ctx context.Context, name, logFile string, argv, env []string) {
	// The death signal comes when the thread ends that made the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for ctx.Err() == nil {
		if err := runOnce(ctx, logFile, argv, env); err != nil && ctx.Err() == nil {
			n.log.Warn("child ended and is started again", "child", name, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

func runOnce(ctx context.Context, logFile string, argv, env []string) error {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(childEnvironment(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}

// childEnvironment is this process's without the socket of the service
// manager: the kubelet and etcd would announce readiness of their own.
func childEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "NOTIFY_SOCKET=") })
}

// until calls check every interval until it is true, fails for good, or the
// context ends.
func until(ctx context.Context, interval time.Duration, check func(context.Context) (bool, error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if done, err := check(ctx); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), context.Cause(ctx))
		case <-tick.C:
		}
	}
}
