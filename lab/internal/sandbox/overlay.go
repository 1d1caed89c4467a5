package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// MountOverlay mounts at target a writable view of target itself: changes go
// to upper, work is the kernel's scratch folder (empty, same file system).
func MountOverlay(target, upper, work string) error {
	for _, path := range []string{target, upper, work} {
		if strings.ContainsAny(path, ",:\\") {
			return fmt.Errorf("overlay on %s: the path %q holds one of , : \\ which overlay options cannot express", target, path)
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", target, upper, work)
	if InUserNamespace() {
		options += ",userxattr"
	}
	if err := unix.Mount("overlay", target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("overlay on %s: %w", target, err)
	}
	return nil
}

// SeedOverlay prepares upper for an overlay on lower in a user namespace, whose
// root may not write into folders and files owned by others: it repeats the
// folders of lower down to the given depth, and with copyFiles also regular
// files, so that they belong to the caller. A file that cannot be read (such as
// /etc/shadow or a lock) becomes an empty one. Outside a user namespace nothing
// is needed and nothing is done.
func SeedOverlay(lower, upper string, depth int, copyFiles bool) error {
	if !InUserNamespace() {
		return nil
	}
	return seed(lower, upper, depth, copyFiles)
}

// seedFileLimit keeps large files, which nobody edits in place, out of the copies (bytes).
const seedFileLimit = 64 << 10

func seed(lower, upper string, depth int, copyFiles bool) error {
	// A folder that cannot be read here cannot be read in the machine either.
	entries, _ := os.ReadDir(lower)
	for _, entry := range entries {
		from, to := filepath.Join(lower, entry.Name()), filepath.Join(upper, entry.Name())
		switch {
		case entry.IsDir() && depth > 0:
			if err := os.MkdirAll(to, 0o755); err != nil {
				return fmt.Errorf("prepare overlay of %s: %w", lower, err)
			}
			if err := seed(from, to, depth-1, copyFiles); err != nil {
				return err
			}
		case entry.Type().IsRegular() && copyFiles:
			if err := copyFile(from, to); err != nil {
				return fmt.Errorf("prepare overlay of %s: %w", lower, err)
			}
		}
	}
	return nil
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it vanished meanwhile
	}
	if err != nil {
		return err
	}
	if info.Size() > seedFileLimit {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm())
}
