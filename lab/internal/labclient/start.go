package labclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/drover-project/drover/lab/internal/beside"
	"github.com/drover-project/drover/lab/internal/host"
	"github.com/drover-project/drover/lab/internal/runfolder"
	"github.com/drover-project/drover/lab/internal/sandbox"
)

// NoProvider is the name of the provider that does nothing: there is none.
const NoProvider = "none"

// Options say what lab to start.
type Options struct {
	// Dir is the run folder; "" means runfolder.Default.
	Dir string
	// Provider is the provider under test: a name (a folder beside the lab's
	// binaries), the path of a folder, or NoProvider.
	Provider string
	// ProviderLater lays the provider under test out, but starts nothing of it until StartProvider is called.
	ProviderLater bool
	// Nodes is how many nodes the management cluster has. With any, nothing of
	// Cluster API is installed on it, and Provider must be NoProvider.
	Nodes int
	// Step is called with each step of the start.
	Step func(name string)
	// EndWithCaller makes the kernel end the lab when this process ends, however that happens.
	EndWithCaller bool
}

// ProviderDirs returns the folders of what runs on the management cluster:
// Cluster API's core and, unless it is NoProvider, the provider under test.
func ProviderDirs(provider string) ([]string, error) {
	bin, err := beside.Dir()
	if err != nil {
		return nil, err
	}
	dirs := []string{filepath.Join(bin, host.CoreProvider)}
	if provider == NoProvider {
		return dirs, nil
	}
	dir := provider
	if !strings.ContainsRune(provider, filepath.Separator) {
		dir = filepath.Join(bin, "providers", provider)
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("provider %s: %w; give `%s`, a name in %s (run `make build` to fill it), or the path of a folder, with a slash in it",
			provider, err, NoProvider, filepath.Join(bin, "providers"))
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", provider, err)
	}
	return append(dirs, dir), nil
}

// checkBinaries says what is missing beside this program.
func checkBinaries() error {
	bin, err := beside.Dir()
	if err != nil {
		return err
	}
	var missing []string
	for _, name := range []string{"kube", "capi-core", filepath.Join(host.CoreProvider, "provider.yaml"), filepath.Join(host.CoreProvider, "crds")} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s lacks %s; run `make build`", bin, strings.Join(missing, ", "))
	}
	return nil
}

// Start starts a lab and returns once its management cluster is ready. When it
// fails or ctx ends meanwhile, nothing is left of the lab except its logs.
func Start(ctx context.Context, o Options) (*Lab, error) {
	if err := checkBinaries(); err != nil {
		return nil, err
	}
	if o.Nodes > 0 && o.Provider != NoProvider {
		return nil, fmt.Errorf("a lab with nodes has no provider: name the provider %s", NoProvider)
	}
	dirs, err := ProviderDirs(o.Provider)
	if err != nil {
		return nil, err
	}
	if o.Dir == "" {
		o.Dir = runfolder.Default
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	folder, err := runfolder.At(o.Dir)
	if err != nil {
		return nil, err
	}
	claim, err := folder.Prepare()
	if err != nil {
		return nil, err
	}
	defer claim.Release()
	if claim.Cleaned {
		o.Step("removed what an earlier lab had left")
	}
	if problems := sandbox.Check(string(folder)); len(problems) > 0 {
		_ = folder.Remove(false)
		return nil, cannotRun(problems)
	}
	lab, err := launch(ctx, folder, dirs[1:], o)
	if err != nil {
		return nil, errors.Join(err, folder.Remove(true))
	}
	return lab, nil
}

func cannotRun(problems []sandbox.Problem) error {
	var lines []string
	for _, p := range problems {
		lines = append(lines, "- "+p.String())
	}
	return fmt.Errorf("a lab cannot run on this computer:\n%s", strings.Join(lines, "\n"))
}

// launch starts the host process and follows it until it is ready. When it
// fails, all processes are gone.
func launch(ctx context.Context, folder runfolder.Folder, providerUnderTest []string, o Options) (*Lab, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own program file: %w", err)
	}
	log, err := os.Create(folder.Log(host.Applet))
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	defer func() { _ = log.Close() }()
	args, err := hostArguments(folder, providerUnderTest, o).CommandLine()
	if err != nil {
		return nil, err
	}
	// It ends in order when it is told to, not when ctx ends.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, args...)
	cmd.Dir = string(folder)
	cmd.Stderr = log
	// Out of reach of the terminal's Ctrl-C: the lab is ended in order, by us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	progress, keep, closeGuest, err := connect(cmd)
	if err != nil {
		return nil, err
	}
	wait, err := sandbox.Start(cmd, o.EndWithCaller)
	closeGuest()
	if err != nil {
		return nil, errors.Join(err, progress.Close(), keep.Close())
	}
	lab, err := follow(ctx, folder, cmd.Process.Pid, providerUnderTest, progress, keep, o)
	if err != nil {
		// The first process of the sandbox takes everything with it.
		_ = cmd.Process.Kill()
		_ = wait()
		return nil, err
	}
	lab.wait = wait
	return lab, nil
}

func hostArguments(folder runfolder.Folder, providerUnderTest []string, o Options) host.Arguments {
	return host.Arguments{
		Folder: folder, ProviderDir: strings.Join(providerUnderTest, ""),
		ProviderLater: o.ProviderLater && len(providerUnderTest) > 0, Nodes: o.Nodes,
	}
}

// connect joins the host's standard input and output with pipes. The input
// stays open as long as the lab may go on; see host.Keep.
func connect(cmd *exec.Cmd) (progress io.ReadCloser, keep io.WriteCloser, closeGuest func(), err error) {
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("make pipe: %w", err)
	}
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, errors.Join(fmt.Errorf("make pipe: %w", err), outRead.Close(), outWrite.Close())
	}
	cmd.Stdin, cmd.Stdout = inRead, outWrite
	return outRead, inWrite, func() { _, _ = inRead.Close(), outWrite.Close() }, nil
}

func follow(ctx context.Context, folder runfolder.Folder, pid int, providerUnderTest []string, progress io.ReadCloser, keep io.WriteCloser, o Options) (*Lab, error) {
	defer func() { _, _ = progress.Close(), keep.Close() }()
	process, err := runfolder.Describe(pid)
	if err != nil {
		return nil, fmt.Errorf("the lab ended at once; see %s: %w", folder.Log(host.Applet), err)
	}
	state := runfolder.State{Process: process, Provider: strings.Join(providerUnderTest, ""), StartedAt: time.Now()}
	if err := folder.WriteState(state); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = progress.Close() })
	defer stop()
	if err := host.Follow(progress, o.Step); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the start of the lab was interrupted: %w", context.Cause(ctx))
		}
		return nil, fmt.Errorf("%w (logs are kept in %s)", err, folder.Logs())
	}
	if err := host.Keep(keep); err != nil {
		return nil, err
	}
	return attach(folder, state)
}
