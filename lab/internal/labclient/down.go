package labclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/drover-project/drover/lab/internal/runfolder"
)

// Down ends the lab, waits until its last process is gone, and removes the run
// folder; with keepLogs its logs stay.
func (l *Lab) Down(ctx context.Context, keepLogs bool) error {
	l.control.Close()
	if err := l.control.Down(ctx); err != nil {
		// Its host may hang or be gone; the state tells.
		if err := l.kill(); err != nil {
			return err
		}
	}
	if err := l.waitGone(ctx); err != nil {
		return err
	}
	return l.folder.Remove(keepLogs)
}

func (l *Lab) kill() error {
	if l.state.Process == nil || !l.state.Process.Running() {
		return nil
	}
	if err := l.state.Process.Kill(); err != nil {
		return fmt.Errorf("end the lab in %s: %w", l.folder, err)
	}
	return nil
}

func (l *Lab) waitGone(ctx context.Context) error {
	if l.wait != nil {
		// How it ended does not matter. A process that is not waited for would stay as a zombie.
		defer func() { _ = l.wait() }()
	}
	if l.state.Process == nil {
		return nil
	}
	if err := l.state.Process.WaitGone(ctx); err != nil {
		return errors.Join(fmt.Errorf("the lab in %s does not end: %w", l.folder, err), l.kill())
	}
	return nil
}

// RemoveDead removes the run folder of a lab that has died, and tells whether
// there was one.
func RemoveDead(dir string, keepLogs bool) (bool, error) {
	folder, err := runfolder.At(dir)
	if err != nil {
		return false, err
	}
	if _, known, err := folder.ReadState(); err != nil || !known {
		return false, err
	}
	return true, folder.Remove(keepLogs)
}
