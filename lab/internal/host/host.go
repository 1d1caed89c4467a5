// Package host is the process that runs a lab: inside a sandbox it starts the
// management cluster and the providers, and is itself the infrastructure. When
// it ends, everything of the lab ends with it.
package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/infra"
	"github.com/drover-project/drover/lab/internal/machine"
	"github.com/drover-project/drover/lab/internal/provider"
	"github.com/drover-project/drover/lab/internal/runfolder"
)

// Applet is the hidden command that is this process. Its arguments are made by Arguments.
const Applet = "host"

// CoreProvider is the folder of Cluster API's core, below the folder of the
// lab's binaries.
const CoreProvider = "providers/cluster-api"

// Main runs a lab until it is told to end. It reports on standard output and
// logs to standard error.
func Main(args []string) int {
	var what Arguments
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &what) != nil {
		fmt.Fprintln(os.Stderr, "host is started by the lab itself")
		return 2
	}
	// A starter that is gone must not end the lab with a broken pipe.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	h := &host{
		Arguments: what,
		report:    &reporter{out: os.Stdout},
		log:       newLogger(os.Stderr),
	}
	if err := h.run(ctx, os.Stdin); err != nil {
		h.log.Error(err, "the lab ends")
		h.report.send(Progress{Failure: err.Error()})
		return 1
	}
	return 0
}

type host struct {
	Arguments

	report *reporter
	log    logr.Logger
	// bin is the folder of the lab's binaries.
	bin string
	// providers are what runs on the management clusters: Cluster API's core and,
	// unless there is none, the provider under test.
	providers []*provider.Provider

	lab *lab
}

// run returns nil when the lab was told to end.
func (h *host) run(ctx context.Context, stdin io.Reader) error {
	lock, err := h.Folder.LockHost()
	if errors.Is(err, runfolder.ErrLocked) {
		return fmt.Errorf("a lab is already running in %s", h.Folder)
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		if !awaitKeep(stdin) {
			cancel()
		}
		h.report.close()
	}()
	if err := h.start(ctx, cancel); err != nil {
		if ctx.Err() != nil {
			// It was told to end while it was starting.
			return nil
		}
		return err
	}
	h.report.send(Progress{Ready: true})
	<-ctx.Done()
	return nil
}

func (h *host) start(ctx context.Context, down func()) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find own program file: %w", err)
	}
	h.bin = filepath.Dir(self)
	if h.Nodes == 0 {
		if err := h.loadProviders(); err != nil {
			return err
		}
	}
	h.report.step("network")
	machines, err := machine.NewManager(string(h.Folder))
	if err != nil {
		return err
	}
	cloud := infra.NewCloud(ctx, infra.Config{
		Machines: machines, LabBinary: self, KubeBinary: filepath.Join(h.bin, "kube"), Log: h.log,
	})
	h.lab = &lab{machines: machines, cloud: cloud, down: down, status: control.Status{StartedAt: time.Now()}}
	if len(h.providers) > 1 {
		h.lab.status.Provider = h.providers[1].Name
	}
	listener, err := control.Listen(ctx, h.Folder.ControlSocket())
	if err != nil {
		return err
	}
	go h.serveControl(ctx, listener)
	if h.Nodes > 0 {
		return h.startBare(ctx)
	}
	return h.startManagement(ctx)
}

func (h *host) loadProviders() error {
	dirs := []string{filepath.Join(h.bin, CoreProvider)}
	if h.ProviderDir != "" {
		dirs = append(dirs, h.ProviderDir)
	}
	for _, dir := range dirs {
		p, err := provider.Load(dir)
		if err != nil {
			return err
		}
		h.providers = append(h.providers, p)
	}
	return nil
}

// startManagement starts the first management cluster, and lets the control
// socket start the provider under test and further management clusters.
func (h *host) startManagement(ctx context.Context) error {
	now := h.providers
	if h.ProviderLater {
		now = h.providers[:1]
	}
	plane, running, err := h.startPlane(ctx, "", h.lab.machines.Home(), now, h.report.step)
	if err != nil {
		return err
	}
	if len(running) > 1 {
		h.lab.provider.set(running[1])
	}
	// What is started later lives as long as the lab, not as long as the request for it.
	if len(h.providers) > 1 {
		h.lab.provider.startWith(func(wait context.Context, request control.StartRequest) (runningProvider, error) {
			return startLater(ctx, wait, plane, h.providers[1], request)
		})
	}
	h.lab.managements.startWith(func(wait context.Context, name string) error { return h.addPlane(ctx, wait, name) })
	h.lab.setReady()
	return nil
}
