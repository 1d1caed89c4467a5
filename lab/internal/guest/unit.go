package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/drover-project/drover/lab/internal/paths"
)

// UnitState is a unit's state in systemd's words.
type UnitState string

// The states a unit can be in.
const (
	UnitInactive     UnitState = "inactive"
	UnitActivating   UnitState = "activating"
	UnitActive       UnitState = "active"
	UnitDeactivating UnitState = "deactivating"
	UnitFailed       UnitState = "failed"
)

const (
	// restartDelay is RestartSec of RKE2's units.
	restartDelay = 5 * time.Second
	// stopTimeout is systemd's DefaultTimeoutStopSec.
	stopTimeout = 90 * time.Second
)

// unit is one service of Type=notify with Restart=always and KillMode=process.
type unit struct {
	name string
	argv []string

	jobs  sync.Mutex // held while a stop is under way: a start waits for its end
	mu    sync.Mutex
	state UnitState
	main  *process      // the latest main process, nil before the first
	stop  chan struct{} // closed to end the supervising loop; nil while none runs
	wake  chan struct{} // ends the pause before a restart early
	ended chan struct{} // closed when the supervising loop has ended
}

// process is one run of a unit's main process.
type process struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed on READY=1
	done  chan struct{} // closed when it has ended; err is set then
	err   error
}

func newUnit(name string, argv ...string) *unit {
	return &unit{name: name, argv: argv, state: UnitInactive}
}

// errEnded says that the main process ended before it was ready.
var errEnded = errors.New("the main process ended before it was ready")

// Start starts the unit unless it runs already, and blocks until it is ready,
// its main process has ended, or ctx is done.
func (u *unit) Start(ctx context.Context) error {
	main, err := u.ensureRunning()
	if err != nil {
		return err
	}
	select {
	case <-main.ready:
		return nil
	case <-main.done:
		return fmt.Errorf("%w: %w", errEnded, main.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ensureRunning returns the running main process, or starts one.
func (u *unit) ensureRunning() (*process, error) {
	u.jobs.Lock()
	defer u.jobs.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stop != nil && !closed(u.main.done) {
		return u.main, nil
	}
	main, err := u.launch()
	if err != nil {
		return nil, err
	}
	u.main, u.state = main, UnitActivating
	if u.stop != nil {
		// A loop is pausing before a restart; it goes on with our process.
		close(u.wake)
		u.wake = make(chan struct{})
		return main, nil
	}
	u.stop, u.wake, u.ended = make(chan struct{}), make(chan struct{}), make(chan struct{})
	go u.supervise(u.stop, u.ended)
	return main, nil
}

// supervise follows main processes and starts the next one until stop is closed.
func (u *unit) supervise(stop, ended chan struct{}) {
	defer close(ended)
	for {
		main, wake := u.current()
		select {
		case <-main.ready:
			u.setState(main, UnitActive)
			<-main.done
		case <-main.done:
		}
		u.logf("main process ended: %v", main.err)
		u.setState(main, UnitActivating)
		pause := time.NewTimer(restartDelay)
		select {
		case <-stop:
			pause.Stop()
			return
		case <-wake:
			pause.Stop()
		case <-pause.C:
			u.relaunch(main)
		}
	}
}

func (u *unit) current() (*process, chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.main, u.wake
}

// setState notes a state of main, unless the unit has moved on meanwhile.
func (u *unit) setState(main *process, state UnitState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.main == main && u.state != UnitDeactivating {
		u.state = state
	}
}

func (u *unit) relaunch(previous *process) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.main != previous || closed(u.stop) {
		return
	}
	main, err := u.launch()
	if err != nil {
		// The same loop tries again after the same pause.
		main = &process{ready: make(chan struct{}), done: make(chan struct{}), err: err}
		close(main.done)
	}
	u.main = main
}

// Stop ends the main process, and only that one, and keeps the unit stopped.
func (u *unit) Stop(ctx context.Context) error {
	u.jobs.Lock()
	defer u.jobs.Unlock()
	u.mu.Lock()
	if u.stop == nil {
		u.mu.Unlock()
		return nil
	}
	main, ended := u.main, u.ended
	if !closed(u.stop) {
		close(u.stop)
	}
	u.state = UnitDeactivating
	u.mu.Unlock()

	if err := main.terminate(ctx); err != nil {
		return fmt.Errorf("stop %s: %w", u.name, err)
	}
	<-ended
	u.mu.Lock()
	defer u.mu.Unlock()
	u.state, u.stop = UnitInactive, nil
	return nil
}

// terminate asks the process to end, and after stopTimeout makes it.
func (p *process) terminate(ctx context.Context) error {
	if closed(p.done) {
		return nil
	}
	// It may end on its own between the look and the signal.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout.C:
		_ = p.cmd.Process.Kill()
		<-p.done
		return nil
	}
}

// Status describes the unit for is-active and status.
func (u *unit) Status() UnitStatus {
	u.mu.Lock()
	defer u.mu.Unlock()
	status := UnitStatus{Name: u.name, State: u.state}
	if u.main != nil && !closed(u.main.done) {
		status.MainPID = u.main.cmd.Process.Pid
	}
	return status
}

// launch starts a main process. u.mu is held.
func (u *unit) launch() (*process, error) {
	log, err := os.OpenFile(logFile(u.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", u.name, err)
	}
	defer func() { _ = log.Close() }()
	extra, err := unitEnvironment(u.name)
	if err != nil {
		return nil, err
	}
	notify, err := listenNotify(u.name)
	if err != nil {
		return nil, err
	}
	// No job's context: a service outlives the job that started it.
	cmd := exec.CommandContext(context.Background(), u.argv[0], u.argv[1:]...)
	cmd.Env = append(append(environment(), extra...), "NOTIFY_SOCKET="+notify.path)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		notify.close()
		return nil, fmt.Errorf("start %s: %w", u.name, err)
	}
	p := &process{cmd: cmd, ready: make(chan struct{}), done: make(chan struct{})}
	go notify.await(p.ready)
	go func() {
		p.err = describeEnd(cmd.Wait())
		notify.close()
		close(p.done)
	}()
	return p, nil
}

func describeEnd(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// logf adds a line of the service manager to the unit's log, as the journal would.
func (u *unit) logf(format string, args ...any) {
	log, err := os.OpenFile(logFile(u.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return
	}
	defer func() { _ = log.Close() }()
	_, _ = fmt.Fprintf(log, "%s %s.service: %s\n", time.Now().UTC().Format(time.RFC3339), u.name, fmt.Sprintf(format, args...))
}

func logFile(unitName string) string { return filepath.Join("/var/log", unitName+".log") }

func notifySocket(unitName string) string {
	return filepath.Join(paths.RunDir, "notify-"+unitName+".sock")
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
