// Package runfolder knows the folder that holds everything a lab writes, and
// tells whether a lab lives in it.
package runfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Default is the run folder of a lab that names none, below the current folder.
const Default = ".lab"

// Folder is the absolute path of a run folder.
type Folder string

// At returns the run folder at path, which need not exist.
func At(path string) (Folder, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("run folder %s: %w", path, err)
	}
	return Folder(abs), nil
}

func (f Folder) path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

// Kubeconfig is the admin kubeconfig of the first management cluster; its
// address is reached from inside the lab only.
func (f Folder) Kubeconfig() string { return f.Plane("").Kubeconfig() }

// ControlSocket is the unix socket of package control.
func (f Folder) ControlSocket() string { return f.path("control.sock") }

// Logs holds one log file per process.
func (f Folder) Logs() string { return f.path("logs") }

// Log is the log file of the named process.
func (f Folder) Log(name string) string { return f.path("logs", name+".log") }

// Machines holds the machines' disks.
func (f Folder) Machines() string { return f.path("machines") }

// stateFile marks a folder as a lab's.
func (f Folder) stateFile() string { return f.path("state.json") }

// hostLock is held by the host process as long as it lives.
func (f Folder) hostLock() string { return f.path("lock") }

// State says which process runs the lab.
type State struct {
	// Process is the first process of the lab's sandbox. It is nil while the lab starts.
	Process *Process `json:"process,omitempty"`
	// Provider is the folder of the provider under test, or "" for none.
	Provider  string    `json:"provider,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
}

// WriteState records the state of the lab.
func (f Folder) WriteState(state State) error {
	data, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("state of the lab: %w", err)
	}
	fresh := f.stateFile() + ".new"
	if err := os.WriteFile(fresh, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write state of the lab: %w", err)
	}
	if err := os.Rename(fresh, f.stateFile()); err != nil {
		return fmt.Errorf("write state of the lab: %w", err)
	}
	return nil
}

// ReadState returns the recorded state, and whether there is one.
func (f Folder) ReadState() (State, bool, error) {
	var state State
	data, err := os.ReadFile(f.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return state, false, nil
	}
	if err != nil {
		return state, false, fmt.Errorf("read state of the lab: %w", err)
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return state, false, fmt.Errorf("read state of the lab in %s: %w", f.stateFile(), err)
	}
	return state, true, nil
}

// ErrLocked is returned when another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// LockHost takes the lock that says that a lab lives here. The kernel gives it
// back when the process is gone.
func (f Folder) LockHost() (*os.File, error) { return lock(f.hostLock(), os.O_CREATE|os.O_RDWR) }

// lockStarter keeps a second start away while the first one prepares the folder.
func (f Folder) lockStarter() (*os.File, error) { return lock(string(f), os.O_RDONLY) }

func lock(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}

// Alive tells whether a lab lives here, and its state.
func (f Folder) Alive() (State, bool, error) {
	state, known, err := f.ReadState()
	if err != nil || !known {
		return state, false, err
	}
	if state.Process != nil && state.Process.Running() {
		return state, true, nil
	}
	if _, err := os.Stat(f.hostLock()); errors.Is(err, fs.ErrNotExist) {
		return state, false, nil
	}
	held, err := f.LockHost()
	if errors.Is(err, ErrLocked) {
		return state, true, nil
	}
	if err != nil {
		return state, false, err
	}
	return state, false, held.Close()
}
