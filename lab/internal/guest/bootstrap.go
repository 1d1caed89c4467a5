package guest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/drover-project/drover/lab/internal/paths"
)

// failureLimit bounds what of paths.BootstrapFailure is told (bytes).
const failureLimit = 2048

// followBootstrap tells the machine manager what the bootstrap says of itself.
func followBootstrap(ctx context.Context, status *os.File) {
	err := watchBootstrap(ctx, paths.BootstrapDir, func(result BootstrapResult) {
		report(status, Report{Bootstrap: &result})
	})
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "machine-services: the bootstrap is not followed:", err)
	}
}

// watchBootstrap calls tell whenever the files in dir say something else than
// before, until ctx ends. The folder may come later, its parent may not. Files are
// read when whoever wrote them has closed them, so they are complete.
func watchBootstrap(ctx context.Context, dir string, tell func(BootstrapResult)) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	defer func() { _ = events.Close() }()
	defer context.AfterFunc(ctx, func() { _ = events.Close() })()
	if _, err := unix.InotifyAddWatch(fd, filepath.Dir(dir), unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
		return fmt.Errorf("watch %s: %w", filepath.Dir(dir), err)
	}
	last := BootstrapResult{State: BootPending}
	// What happened does not matter, only that something did.
	ignored := make([]byte, 4096)
	for {
		// Nothing changes when it is watched already.
		_, err := unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_DELETE)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("watch %s: %w", dir, err)
		}
		now, err := readBootstrap(dir)
		if err != nil {
			return err
		}
		if now != last {
			tell(now)
		}
		last = now
		if _, err := events.Read(ignored); err != nil {
			return fmt.Errorf("watch %s: %w", dir, err)
		}
	}
}

// readBootstrap: the sentinel counts even if something failed after it was
// written, since it is what Cluster API's contract names.
func readBootstrap(dir string) (BootstrapResult, error) {
	if _, err := os.Stat(filepath.Join(dir, filepath.Base(paths.BootstrapSentinel))); err == nil {
		return BootstrapResult{State: BootSucceeded}, nil
	}
	failure, err := os.ReadFile(filepath.Join(dir, filepath.Base(paths.BootstrapFailure)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return BootstrapResult{State: BootPending}, nil
	case err != nil:
		return BootstrapResult{}, fmt.Errorf("read why the bootstrap failed: %w", err)
	}
	return BootstrapResult{State: BootFailed, Message: shorten(string(failure), failureLimit)}, nil
}

// shorten makes text valid UTF-8 of that size at most. It keeps the beginning,
// which names the step, and the end, where the reason most likely is.
func shorten(text string, limit int) string {
	const omission = "\n[...]\n"
	text = strings.TrimSpace(text)
	if len(text) > limit {
		head := limit / 4
		text = text[:head] + omission + text[len(text)-(limit-head-len(omission)):]
	}
	// A character that was cut, or was none, goes.
	return strings.ToValidUTF8(text, "")
}
