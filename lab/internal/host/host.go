// Package host is the process that runs a lab: inside a sandbox it starts the
// management cluster and the providers, and is itself the infrastructure. When
// it ends, everything of the lab ends with it.
package host

import (
	"context"
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
	"github.com/drover-project/drover/lab/internal/management"
	"github.com/drover-project/drover/lab/internal/provider"
	"github.com/drover-project/drover/lab/internal/runfolder"
)

// Applet is the hidden command that is this process. Its arguments are the run
// folder and, optionally, the folder of the provider under test.
const Applet = "host"

// CoreProvider is the folder of Cluster API's core, below the folder of the
// lab's binaries.
const CoreProvider = "providers/cluster-api"

// Main runs a lab until it is told to end. It reports on standard output and
// logs to standard error.
func Main(args []string) int {
	if len(args) < 1 || len(args) > 2 {
		fmt.Fprintln(os.Stderr, "host is started by the lab itself")
		return 2
	}
	// A starter that is gone must not end the lab with a broken pipe.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	h := &host{
		folder: runfolder.Folder(args[0]),
		report: &reporter{out: os.Stdout},
		log:    newLogger(os.Stderr),
	}
	if len(args) == 2 {
		h.providerDir = args[1]
	}
	if err := h.run(ctx, os.Stdin); err != nil {
		h.log.Error(err, "the lab ends")
		h.report.send(Progress{Failure: err.Error()})
		return 1
	}
	return 0
}

type host struct {
	folder      runfolder.Folder
	providerDir string
	report      *reporter
	log         logr.Logger

	lab *lab
}

// run returns nil when the lab was told to end.
func (h *host) run(ctx context.Context, stdin io.Reader) error {
	lock, err := h.folder.LockHost()
	if errors.Is(err, runfolder.ErrLocked) {
		return fmt.Errorf("a lab is already running in %s", h.folder)
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
	bin := filepath.Dir(self)
	providers, err := h.loadProviders(bin)
	if err != nil {
		return err
	}
	h.report.step("network")
	machines, err := machine.NewManager(string(h.folder))
	if err != nil {
		return err
	}
	h.lab = &lab{machines: machines, down: down, status: control.Status{StartedAt: time.Now()}}
	if len(providers) > 1 {
		h.lab.status.Provider = providers[1].Name
	}
	listener, err := control.Listen(ctx, h.folder.ControlSocket())
	if err != nil {
		return err
	}
	go h.serveControl(ctx, listener)
	return h.startManagement(ctx, bin, self, providers)
}

func (h *host) loadProviders(bin string) ([]*provider.Provider, error) {
	dirs := []string{filepath.Join(bin, CoreProvider)}
	if h.providerDir != "" {
		dirs = append(dirs, h.providerDir)
	}
	var providers []*provider.Provider
	for _, dir := range dirs {
		p, err := provider.Load(dir)
		if err != nil {
			return nil, err
		}
		providers = append(providers, p)
	}
	return providers, nil
}

func (h *host) startManagement(ctx context.Context, bin, self string, providers []*provider.Provider) error {
	h.report.step("management cluster (etcd, kube-apiserver)")
	plane, err := management.Start(ctx, management.Config{Folder: h.folder, Bin: bin, Providers: providers})
	if err != nil {
		return err
	}
	h.report.step("kinds and webhooks")
	if err := plane.InstallKinds(ctx); err != nil {
		return err
	}
	h.report.step("infrastructure provider")
	infrastructure, err := infra.Start(ctx, infra.Config{
		REST:       plane.REST(),
		Machines:   h.lab.machines,
		LabBinary:  self,
		KubeBinary: filepath.Join(bin, "kube"),
		Log:        h.log,
	})
	if err != nil {
		return err
	}
	h.lab.setInfrastructure(infrastructure)
	for i, p := range providers {
		h.report.step("provider " + p.Name)
		running, err := plane.StartProvider(ctx, p)
		if err != nil {
			return err
		}
		if i > 0 {
			h.lab.setProvider(running)
		}
	}
	h.lab.setReady()
	return nil
}
