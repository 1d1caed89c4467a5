package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/paths"
)

// consoleFile, in a machine's disk folder, gets what its first processes print.
const consoleFile = "console.log"

// start makes the disk, the first process and the cable, and then lets the
// process go on. If it returns an error nothing of the machine is left running.
func (m *Manager) start(mc *machine, spec Spec) error {
	if err := writeDisk(mc.disk, spec); err != nil {
		return err
	}
	cmd, pipes, err := prepare(mc, spec)
	defer pipes.closeGuestEnds()
	if err != nil {
		pipes.closeOwnEnds()
		return err
	}
	if err := cmd.Start(); err != nil {
		pipes.closeOwnEnds()
		return fmt.Errorf("start its first process: %w", err)
	}
	if err := m.connect(mc, cmd.Process.Pid, spec, pipes.config); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		pipes.closeOwnEnds()
		m.network.unplug(mc.link)
		return err
	}
	mc.process = cmd.Process
	go m.follow(mc, cmd, pipes.status)
	return nil
}

// writeDisk makes a fresh disk folder: what an earlier machine of the same name
// left, in an earlier run of the lab, is not this machine's.
func writeDisk(disk string, spec Spec) error {
	if err := os.RemoveAll(disk); err != nil {
		return fmt.Errorf("clear disk: %w", err)
	}
	if err := os.MkdirAll(disk, 0o755); err != nil {
		return fmt.Errorf("make disk: %w", err)
	}
	if len(spec.BootstrapData) == 0 {
		return nil
	}
	// The machine sees the disk's folder var as /var.
	path := filepath.Join(disk, paths.UserDataFile)
	if spec.Format == Ignition {
		path = filepath.Join(disk, paths.IgnitionFile)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write user data: %w", err)
	}
	if err := os.WriteFile(path, spec.BootstrapData, 0o600); err != nil {
		return fmt.Errorf("write user data: %w", err)
	}
	return nil
}

// pipes join the manager with a machine's first process.
type pipes struct {
	config, status                    *os.File // our ends
	guestConfig, guestStatus, console *os.File // what the process inherits
}

func (p pipes) closeOwnEnds() { closeAll(p.config, p.status) }

func (p pipes) closeGuestEnds() { closeAll(p.guestConfig, p.guestStatus, p.console) }

// closeAll closes descriptors that hold no unwritten data, so that there is
// nothing an error could tell.
func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}

func prepare(mc *machine, spec Spec) (*exec.Cmd, pipes, error) {
	var p pipes
	var err error
	if p.console, err = os.Create(filepath.Join(mc.disk, consoleFile)); err != nil {
		return nil, p, fmt.Errorf("open console: %w", err)
	}
	if p.guestConfig, p.config, err = os.Pipe(); err != nil {
		return nil, p, fmt.Errorf("make pipe: %w", err)
	}
	if p.status, p.guestStatus, err = os.Pipe(); err != nil {
		return nil, p, fmt.Errorf("make pipe: %w", err)
	}
	// Not Boot's context: the machine outlives the call.
	cmd := exec.CommandContext(context.Background(), spec.LabBinary, guest.InitApplet)
	cmd.Dir = "/"
	cmd.Env = []string{}
	cmd.Stdout, cmd.Stderr = p.console, p.console
	// They become the descriptors guest.ConfigFD and guest.StatusFD.
	cmd.ExtraFiles = []*os.File{p.guestConfig, p.guestStatus}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Setsid:     true,
	}
	return cmd, p, nil
}

// connect plugs the machine in and tells it who it is.
func (m *Manager) connect(mc *machine, pid int, spec Spec, config *os.File) error {
	if err := m.network.plug(mc.link, pid); err != nil {
		return err
	}
	err := json.NewEncoder(config).Encode(guest.Config{
		Instance: guest.Instance{
			Name: spec.Name, Hostname: mc.info.Hostname, Cluster: spec.Cluster, IP: mc.info.IP,
			ProviderID: spec.ProviderID, FailureDomain: spec.FailureDomain,
		},
		Address:    m.network.prefix(mc.info.IP),
		Gateway:    Gateway,
		Disk:       mc.disk,
		Hidden:     m.runDir,
		LabBinary:  spec.LabBinary,
		KubeBinary: spec.KubeBinary,
		Programs:   spec.Programs,
	})
	if err := errors.Join(err, config.Close()); err != nil {
		return fmt.Errorf("configure it: %w", err)
	}
	return nil
}

// follow takes a machine's reports until it is dead, and then notes its end.
func (m *Manager) follow(mc *machine, cmd *exec.Cmd, status *os.File) {
	failure := m.readReports(mc, status)
	_ = status.Close()
	err := cmd.Wait()
	m.network.unplug(mc.link)
	m.update(mc, func(info *Info) {
		info.Frozen = false
		switch {
		case mc.fate != nil:
			info.State, info.Reason = mc.fate.state, mc.fate.reason
		case info.State == Starting:
			info.State, info.Reason = Failed, startFailure(failure, err)
		default:
			info.State, info.Reason = Terminated, fmt.Sprintf("its first process ended: %v", describeEnd(err))
		}
	})
	close(mc.dead)
}

func (m *Manager) readReports(mc *machine, status *os.File) (failure string) {
	decoder := json.NewDecoder(status)
	for {
		var report guest.Report
		if err := decoder.Decode(&report); err != nil {
			return failure
		}
		if report.Failure != "" {
			failure = report.Failure
		}
		if report.Ready {
			m.update(mc, func(info *Info) {
				if info.State == Starting {
					info.State = Running
				}
			})
			close(mc.up)
		}
		if report.Bootstrap != nil {
			m.update(mc, func(info *Info) { info.Bootstrap = *report.Bootstrap })
		}
		if report.Boot != nil {
			m.update(mc, func(info *Info) { info.Boot = *report.Boot })
		}
	}
}

func startFailure(failure string, err error) string {
	if failure != "" {
		return failure
	}
	return fmt.Sprintf("its first process ended during the start: %v (see %s)", describeEnd(err), consoleFile)
}

func describeEnd(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// end kills a machine and waits until all of it is gone.
func (m *Manager) end(mc *machine, state State, reason string) {
	<-mc.started
	select {
	case <-mc.dead:
		return
	default:
	}
	m.mu.Lock()
	if mc.fate == nil {
		mc.fate = &fate{state, reason}
	}
	m.mu.Unlock()
	// First the cable, or its dying processes would say goodbye to their peers.
	// Without a cable there is nobody to say it to.
	_ = m.network.setUp(mc.link, false)
	// The kernel ends every process of the machine with this one. It may have
	// ended on its own meanwhile.
	_ = mc.process.Kill()
	<-mc.dead
}
