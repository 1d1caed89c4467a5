package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"github.com/drover-project/drover/lab/internal/paths"
)

// oneshot is a service of Type=oneshot, which user data brought. It is up once
// its programs have ended well.
type oneshot struct {
	name string

	jobs sync.Mutex // held while it is being started: another start waits for that
	mu   sync.Mutex
	// state and cancel, which ends a start that is under way, are guarded by mu.
	state  UnitState
	cancel context.CancelFunc
}

func newOneshot(name string) *oneshot {
	return &oneshot{name: name, state: UnitInactive, cancel: func() {}}
}

// Start runs the programs unless a condition of the unit is not met, or they have
// run and the unit stays active. It does not end with ctx: like systemd's, a job
// goes on when nobody waits for it any more.
func (o *oneshot) Start(ctx context.Context) error {
	o.jobs.Lock()
	defer o.jobs.Unlock()
	if o.Status().State == UnitActive {
		return nil
	}
	settings, err := readUnit(o.name)
	if err != nil {
		return err
	}
	unmet, err := settings.unmet()
	if err != nil {
		return err
	}
	if unmet != "" {
		consolef("%s.service is skipped because of its %s", o.name, unmet)
		return nil
	}
	for _, name := range settings.ignored {
		consolef("%s.service: %s= has no effect on a lab machine", o.name, name)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	o.set(UnitActivating, cancel)
	if err := o.run(ctx, settings); err != nil {
		o.set(UnitFailed, func() {})
		return err
	}
	state := UnitInactive
	if settings.remain {
		state = UnitActive
	}
	o.set(state, func() {})
	return nil
}

func (o *oneshot) run(ctx context.Context, settings unitSettings) error {
	log, err := openConsole()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	// What journalctl shows of the unit is what it printed to the console.
	if err := os.Symlink(paths.CloudInitLog, logFile(o.name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("log of %s: %w", o.name, err)
	}
	for _, argv := range settings.commands {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = append(environment(), settings.environment...)
		cmd.Dir = "/"
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = stopTimeout
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%w (output in %s)", err, paths.CloudInitLog)
		}
	}
	return nil
}

// Stop ends the program that runs, and waits for its end.
func (o *oneshot) Stop(context.Context) error {
	o.mu.Lock()
	cancel := o.cancel
	o.mu.Unlock()
	cancel()
	o.jobs.Lock()
	defer o.jobs.Unlock()
	o.set(UnitInactive, func() {})
	return nil
}

// Status describes the unit for is-active and status.
func (o *oneshot) Status() UnitStatus {
	o.mu.Lock()
	defer o.mu.Unlock()
	return UnitStatus{Name: o.name, State: o.state}
}

func (o *oneshot) set(state UnitState, cancel context.CancelFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state, o.cancel = state, cancel
}

func openConsole() (*os.File, error) {
	return os.OpenFile(paths.CloudInitLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
}

// consolef tells what the service manager does, or leaves undone, at boot.
func consolef(format string, args ...any) {
	console, err := openConsole()
	if err != nil {
		fmt.Fprintln(os.Stderr, "machine-services:", err)
		return
	}
	defer func() { _ = console.Close() }()
	_, _ = fmt.Fprintf(console, "systemd: "+format+"\n", args...)
}
