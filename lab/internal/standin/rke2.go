// Package standin stands in for the RKE2 service on a machine of the laboratory.
// It does what RKE2 does at the points that a control-plane provider touches:
// registration on port 9345, etcd membership, static pods, labels and
// annotations of Nodes, and the teardown when a member is to be removed. What
// it leaves out (images, CNI, charts, snapshots, its own encryption keys) no
// provider can see in the order of an upgrade.
package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/paths"
	"github.com/drover-project/drover/lab/internal/standin/config"
	"github.com/drover-project/drover/lab/internal/standin/pki"
	"github.com/drover-project/drover/lab/internal/standin/pods"
	"github.com/drover-project/drover/lab/internal/standin/supervisor"
)

// Main is the applet `rke2 server|agent`. It returns the exit code.
func Main(args []string) int {
	if len(args) != 1 || args[0] != "server" && args[0] != "agent" {
		fmt.Fprintln(os.Stderr, "usage: rke2 server|agent")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	n, err := newNode()
	if err == nil && args[0] == "server" {
		err = n.runServer(ctx)
	} else if err == nil {
		err = n.runAgent(ctx)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "rke2:", err)
		return 1
	}
	return 0
}

// node is what server and agent have in common.
type node struct {
	log      *slog.Logger
	config   config.Config
	version  string
	instance guest.Instance
	name     string
	token    supervisor.Token
	data     string
	tls      pki.Store
}

func newNode() (*node, error) {
	cfg, err := config.Load(config.Dir)
	if err != nil {
		return nil, err
	}
	n := &node{log: slog.New(slog.NewTextHandler(os.Stderr, nil)), config: cfg, data: cfg.DataDir()}
	n.tls = pki.Store{Dir: filepath.Join(n.data, "server", "tls")}
	version, err := os.ReadFile(paths.RKE2VersionFile)
	if err != nil {
		return nil, fmt.Errorf("installed version: %w", err)
	}
	n.version = strings.TrimSpace(string(version))
	if err := checkVersion(n.version); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(paths.InstanceFile)
	if err != nil {
		return nil, fmt.Errorf("instance metadata: %w", err)
	}
	if err := json.Unmarshal(data, &n.instance); err != nil {
		return nil, fmt.Errorf("instance metadata: %w", err)
	}
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	n.name = strings.ToLower(cfg.StringOr("node-name", hostname))
	if err := n.linkTools(); err != nil {
		return nil, err
	}
	return n, n.readToken()
}

// linkTools puts kubectl where RKE2 unpacks it: people's commands call it there.
func (n *node) linkTools() error {
	file := filepath.Join(n.data, "bin", "kubectl")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(paths.KubeBinary, file); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// checkVersion makes sure that the lab's one build of Kubernetes can pass for
// the installed version: the component would end at once, again and again.
func checkVersion(version string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, paths.KubeBinary, "etcd", "--version")
	cmd.Env = append(childEnvironment(), "LAB_VERSION="+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("this lab cannot run version %s: %w: %s", version, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (n *node) readToken() error {
	text := n.config.String("token")
	if file := n.config.String("token-file"); text == "" && file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("token-file: %w", err)
		}
		text = strings.TrimSpace(string(data))
	}
	token, err := supervisor.ParseToken(text)
	n.token = token
	return err
}

// ip is the address by which others reach this machine.
func (n *node) ip() string {
	return n.config.StringOr("node-ip", n.instance.IP.String())
}

func (n *node) agentDir(name string) string { return filepath.Join(n.data, "agent", name) }

func (n *node) podDir() pods.Dir { return pods.Dir(n.agentDir("pod-manifests")) }
