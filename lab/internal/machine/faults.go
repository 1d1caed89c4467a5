package machine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Cut pulls a machine's network cable: packets vanish in both directions.
func (m *Manager) Cut(name string) error { return m.setCut(name, true) }

// Heal plugs the cable in again.
func (m *Manager) Heal(name string) error { return m.setCut(name, false) }

func (m *Manager) setCut(name string, cut bool) error {
	mc, err := m.running(name)
	if err == nil {
		err = m.network.setUp(mc.link, !cut)
	}
	if err != nil {
		return fmt.Errorf("network of machine %s: %w", name, err)
	}
	m.update(mc, func(info *Info) { info.Cut = cut })
	return nil
}

// Freeze stops every process of a machine, as when a hypervisor pauses it,
// except that its kernel still accepts connections (which then stay silent).
// It returns once nothing of the machine runs.
func (m *Manager) Freeze(name string) error {
	mc, err := m.running(name)
	if err == nil {
		err = stopAll(mc.process.Pid)
	}
	if err != nil {
		return fmt.Errorf("freeze machine %s: %w", name, err)
	}
	m.update(mc, func(info *Info) { info.Frozen = true })
	return nil
}

// Thaw lets a frozen machine go on.
func (m *Manager) Thaw(name string) error {
	mc, err := m.running(name)
	if err == nil {
		err = continueAll(mc.process.Pid)
	}
	if err != nil {
		return fmt.Errorf("thaw machine %s: %w", name, err)
	}
	m.update(mc, func(info *Info) { info.Frozen = false })
	return nil
}

const (
	// stopTimeout bounds how long a process may take to stop: one that waits for
	// its disk stops after that.
	stopTimeout = 5 * time.Second
	stopPause   = time.Millisecond
)

// stopAll stops every process of the pid namespace of first. A signal takes
// effect a moment later, and a process that still runs may fork; so it looks
// again until it finds all of them stopped. The kernel offers nobody but the
// parent a way to wait for that.
func stopAll(first int) error {
	for end := time.Now().Add(stopTimeout); ; time.Sleep(stopPause) {
		pids, err := processes(first)
		if err != nil {
			return err
		}
		pids = slices.DeleteFunc(pids, stopped)
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("processes %v do not stop within %v", pids, stopTimeout)
		}
		if err := signalAll(pids, syscall.SIGSTOP); err != nil {
			return err
		}
	}
}

func continueAll(first int) error {
	pids, err := processes(first)
	if err != nil {
		return err
	}
	return signalAll(pids, syscall.SIGCONT)
}

func signalAll(pids []int, signal syscall.Signal) error {
	for _, pid := range pids {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal process %d: %w", pid, err)
		}
	}
	return nil
}

// stopped tells whether no thread of a process runs any more.
func stopped(pid int) bool {
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(threads, runs)
}

// runs reads the state of a thread: the letter after its name in brackets
// (proc_pid_stat(5)). T is stopped; Z and X are dead.
func runs(stat string) bool {
	data, err := os.ReadFile(stat)
	if err != nil {
		return false // it has ended
	}
	after := bytes.LastIndex(data, []byte(") "))
	return after >= 0 && !bytes.ContainsAny(data[after+2:after+3], "TZX")
}

func pidNamespace(pid int) string {
	return filepath.Join("/proc", strconv.Itoa(pid), "ns", "pid")
}

// processes lists the processes in the pid namespace of first, by the ids this
// process knows them by.
func processes(first int) ([]int, error) {
	namespace, err := os.Readlink(pidNamespace(first))
	if err != nil {
		return nil, fmt.Errorf("find its processes: %w", err)
	}
	return members(namespace)
}

func members(namespace string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// A process that ended meanwhile has no namespace any more.
		if found, err := os.Readlink(pidNamespace(pid)); err == nil && found == namespace {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
