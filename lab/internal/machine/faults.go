package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
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
func (m *Manager) Freeze(name string) error {
	mc, err := m.running(name)
	if err == nil {
		err = signalAll(mc.process.Pid, syscall.SIGSTOP)
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
		err = signalAll(mc.process.Pid, syscall.SIGCONT)
	}
	if err != nil {
		return fmt.Errorf("thaw machine %s: %w", name, err)
	}
	m.update(mc, func(info *Info) { info.Frozen = false })
	return nil
}

// signalAll sends a signal to every process of the pid namespace of first,
// again and again until no process is found that did not get it: one that is
// not yet stopped may fork.
func signalAll(first int, signal syscall.Signal) error {
	namespace, err := os.Readlink(pidNamespace(first))
	if err != nil {
		return fmt.Errorf("find its processes: %w", err)
	}
	signalled := map[int]bool{}
	for {
		pids, err := processes(namespace)
		if err != nil {
			return err
		}
		news := false
		for _, pid := range pids {
			if signalled[pid] {
				continue
			}
			news, signalled[pid] = true, true
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("signal process %d: %w", pid, err)
			}
		}
		if !news {
			return nil
		}
	}
}

func pidNamespace(pid int) string {
	return filepath.Join("/proc", strconv.Itoa(pid), "ns", "pid")
}

// processes lists the processes of a pid namespace as this process sees them.
func processes(namespace string) ([]int, error) {
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
