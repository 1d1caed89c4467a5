package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Claim is the right to start a lab in a folder. Release it when the lab runs
// or was given up.
type Claim struct {
	// Folder is empty except for the record that it is a lab's.
	Folder Folder
	// Cleaned is set when remains of a dead lab were removed.
	Cleaned bool
	lock    *os.File
}

// Release lets others start a lab again.
func (c *Claim) Release() { _ = c.lock.Close() }

// Prepare makes an empty run folder, and removes what a dead lab has left in
// it. It refuses a folder in which a lab lives, and one that is not a lab's.
func (f Folder) Prepare() (*Claim, error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, fmt.Errorf("make run folder: %w", err)
	}
	held, err := f.lockStarter()
	if errors.Is(err, ErrLocked) {
		return nil, fmt.Errorf("a lab is just being started in %s; wait, or choose another folder with --dir", f)
	}
	if err != nil {
		return nil, fmt.Errorf("run folder %s: %w", f, err)
	}
	claim := &Claim{Folder: f, lock: held}
	if claim.Cleaned, err = f.empty(); err == nil {
		err = f.WriteState(State{})
	}
	if err == nil {
		err = os.Mkdir(f.Logs(), 0o755)
	}
	if err != nil {
		claim.Release()
		return nil, err
	}
	return claim, nil
}

func (f Folder) empty() (cleaned bool, err error) {
	state, alive, err := f.Alive()
	if err != nil {
		return false, err
	}
	if alive {
		pid := ""
		if state.Process != nil {
			pid = fmt.Sprintf(" (process %d)", state.Process.PID)
		}
		return false, fmt.Errorf("a lab is already running in %s%s; stop it with `lab down --dir %s`, or choose another folder with --dir", f, pid, f)
	}
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return false, fmt.Errorf("read run folder: %w", err)
	}
	if len(entries) == 0 {
		return false, nil
	}
	// A folder that holds only logs is what `lab down --keep` leaves.
	if _, known, err := f.ReadState(); err != nil || (!known && !onlyLogs(entries)) {
		return false, errors.Join(err, fmt.Errorf("%s is not empty and not the run folder of a lab; choose another folder with --dir", f))
	}
	for _, entry := range entries {
		if err := removeAll(f.path(entry.Name())); err != nil {
			return false, err
		}
	}
	return true, nil
}

func onlyLogs(entries []os.DirEntry) bool {
	return len(entries) == 1 && entries[0].Name() == "logs" && entries[0].IsDir()
}

// Remove deletes the run folder of a dead lab; with keepLogs its logs stay.
func (f Folder) Remove(keepLogs bool) error {
	if _, alive, err := f.Alive(); err != nil || alive {
		return errors.Join(err, fmt.Errorf("the run folder %s is not removed: its lab is still running", f))
	}
	if !keepLogs {
		return removeAll(string(f))
	}
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return fmt.Errorf("read run folder: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == "logs" {
			continue
		}
		if err := removeAll(f.path(entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// removeAll also removes folders that their owner may not enter, such as the
// kernel's scratch folders of overlays.
func removeAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	err := filepath.WalkDir(path, func(p string, entry fs.DirEntry, err error) error {
		if entry == nil || !entry.IsDir() {
			return err
		}
		// What cannot be changed makes the second try fail, with a better message.
		_ = os.Chmod(p, 0o700)
		return nil
	})
	if err := errors.Join(err, os.RemoveAll(path)); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}
