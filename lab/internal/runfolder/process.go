package runfolder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// pollInterval is how often the end of a lab is looked for: its processes are
// not this process's children, so nobody reports it.
const pollInterval = 50 * time.Millisecond

// Process is one process of this computer, told apart from later processes
// that got the same id.
type Process struct {
	PID int `json:"pid"`
	// Started is when the process started, in clock ticks since boot (field 22 of /proc/PID/stat, proc(5)).
	Started uint64 `json:"started"`
}

// Describe returns the running process with this id.
func Describe(pid int) (*Process, error) {
	state, started, err := stat(pid)
	if err != nil {
		return nil, err
	}
	if state == 'Z' {
		return nil, fmt.Errorf("process %d has ended", pid)
	}
	return &Process{PID: pid, Started: started}, nil
}

// Running tells whether the process has not ended. The first process of a pid
// namespace ends after all others in it.
func (p *Process) Running() bool {
	state, started, err := stat(p.PID)
	return err == nil && state != 'Z' && started == p.Started
}

// WaitGone waits until the process has ended.
func (p *Process) WaitGone(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for p.Running() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of process %d: %w", p.PID, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

func stat(pid int) (state byte, started uint64, err error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	// The second field, the program's name in parentheses, may hold anything.
	end := bytes.LastIndexByte(data, ')')
	fields := bytes.Fields(data[end+1:])
	const startTime = 22 - 3
	if end < 0 || len(fields) <= startTime {
		return 0, 0, fmt.Errorf("look at process %d: unreadable stat", pid)
	}
	if started, err = strconv.ParseUint(string(fields[startTime]), 10, 64); err != nil {
		return 0, 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return fields[0][0], started, nil
}

// Kill ends the process at once, and with it, when it is the first one of a
// pid namespace, everything in that.
func (p *Process) Kill() error {
	if !p.Running() {
		return nil
	}
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end process %d: %w", p.PID, err)
	}
	return nil
}
