package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/drover-project/drover/lab/internal/paths"
	"github.com/drover-project/drover/lab/internal/sandbox"
)

// diskMount is where the disk is while the machine's folders are put together.
const diskMount = paths.RunDir + "/disk"

// mountAll gives the machine its own view of the file system. Everything that
// was there becomes read-only; what a machine may write lies on its disk or in
// memory. All of it exists only in this machine's mount namespace.
func mountAll(config Config) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := prepareDisk(config.Disk); err != nil {
		return err
	}
	// Taken now, because later mounts may cover the places they lie in.
	trees, err := cloneTrees(config)
	if err != nil {
		return err
	}
	if err := setReadOnly("/", unix.AT_RECURSIVE); err != nil {
		return err
	}
	if err := mountTmpfs(config.Hidden, "mode=0755,size=4k", unix.MS_RDONLY); err != nil {
		return err
	}
	if err := mountRun(trees); err != nil {
		return err
	}
	if err := mountDisk(); err != nil {
		return err
	}
	if err := mountTmpfs("/dev/shm", "mode=1777,size=64m", 0); err != nil {
		return err
	}
	return mountProc()
}

// diskFolders are the plain folders of a disk and where the machine sees them.
var diskFolders = []struct {
	name, target string
	mode         os.FileMode
}{
	{"var", "/var", 0o755},
	{"root", "/root", 0o700},
	{"tmp", "/tmp", 0o777 | os.ModeSticky},
}

// varFolders exist on every machine below /var.
var varFolders = []string{"cache", "lib/cloud/instance/scripts", "lib/kubelet", "lib/rancher", "log", "spool", "tmp"}

func prepareDisk(disk string) error {
	for _, folder := range diskFolders {
		path := filepath.Join(disk, folder.name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("prepare disk: %w", err)
		}
		if err := os.Chmod(path, folder.mode); err != nil {
			return fmt.Errorf("prepare disk: %w", err)
		}
	}
	for _, name := range varFolders {
		if err := os.MkdirAll(filepath.Join(disk, "var", name), 0o755); err != nil {
			return fmt.Errorf("prepare disk: %w", err)
		}
	}
	if err := os.Symlink("/run", filepath.Join(disk, "var", "run")); err != nil && !os.IsExist(err) {
		return fmt.Errorf("prepare disk: %w", err)
	}
	for _, target := range sandbox.OverlayDirs {
		upper, work := overlayFolders(disk, target)
		for _, path := range []string{upper, work} {
			if err := os.MkdirAll(path, 0o755); err != nil {
				return fmt.Errorf("prepare disk: %w", err)
			}
		}
		if err := seedOverlay(target, upper); err != nil {
			return err
		}
	}
	return nil
}

// seedOverlay: /etc is small and edited in place; the others may be huge, and
// only their first levels get new files.
func seedOverlay(target, upper string) error {
	if target == "/etc" {
		return sandbox.SeedOverlay(target, upper, 8, true)
	}
	return sandbox.SeedOverlay(target, upper, 2, false)
}

func overlayFolders(disk, target string) (upper, work string) {
	name := strings.ReplaceAll(strings.TrimPrefix(target, "/"), "/", "-")
	return filepath.Join(disk, name, "upper"), filepath.Join(disk, name, "work")
}

// tree is a detached copy of a mount and the place it is meant for.
type tree struct {
	fd       int
	target   string
	file     bool
	readOnly bool
}

func cloneTrees(config Config) ([]tree, error) {
	// By target: one file may be meant for two places.
	wanted := map[string]string{diskMount: config.Disk}
	programs := map[string]string{paths.LabBinary: config.LabBinary, paths.KubeBinary: config.KubeBinary}
	for name, source := range config.Programs {
		programs[filepath.Join(paths.ProgramDir, name)] = source
	}
	for target, source := range programs {
		if source != "" {
			wanted[target] = source
		}
	}
	var trees []tree
	for target, source := range wanted {
		t := tree{target: target, file: target != diskMount, readOnly: target != diskMount}
		fd, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", source, err)
		}
		t.fd = fd
		trees = append(trees, t)
	}
	return trees, nil
}

// mountRun makes an empty /run and attaches the cloned trees below it.
func mountRun(trees []tree) error {
	if err := mountTmpfs("/run", "mode=0755", 0); err != nil {
		return err
	}
	for _, path := range []string{paths.AppletDir, filepath.Dir(paths.LabBinary), paths.ProgramDir, "/run/lock"} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("prepare /run: %w", err)
		}
	}
	for _, t := range trees {
		if err := t.attach(); err != nil {
			return fmt.Errorf("mount %s: %w", t.target, err)
		}
	}
	return nil
}

func (t tree) attach() error {
	defer func() { _ = unix.Close(t.fd) }()
	var err error
	if t.file {
		err = os.WriteFile(t.target, nil, 0o755)
	} else {
		err = os.Mkdir(t.target, 0o755)
	}
	if err != nil {
		return err
	}
	if err := unix.MoveMount(t.fd, "", unix.AT_FDCWD, t.target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	if !t.readOnly {
		return nil
	}
	return setReadOnly(t.target, 0)
}

// mountDisk puts the disk's folders in place and then hides the disk itself.
func mountDisk() error {
	for _, folder := range diskFolders {
		source := filepath.Join(diskMount, folder.name)
		if err := unix.Mount(source, folder.target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", folder.target, err)
		}
	}
	for _, target := range sandbox.OverlayDirs {
		upper, work := overlayFolders(diskMount, target)
		if err := sandbox.MountOverlay(target, upper, work); err != nil {
			return err
		}
	}
	if err := unix.Unmount(diskMount, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("hide disk: %w", err)
	}
	return os.Remove(diskMount)
}

// mountProc shows the machine's own processes. Settings below /proc/sys that
// belong to the whole computer stay read-only; those of the network are the
// machine's own.
func mountProc() error {
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, step := range []struct {
		path     string
		readOnly bool
	}{{"/proc/sys", true}, {"/proc/sys/net", false}, {"/proc/sysrq-trigger", true}} {
		// Kernels are built without some of them.
		if err := rebind(step.path, step.readOnly); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("protect %s: %w", step.path, err)
		}
	}
	return nil
}

func rebind(path string, readOnly bool) error {
	if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	attr := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	if readOnly {
		attr = unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	}
	return unix.MountSetattr(unix.AT_FDCWD, path, 0, &attr)
}

func setReadOnly(path string, flags uint) error {
	if err := unix.MountSetattr(unix.AT_FDCWD, path, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make %s read-only: %w", path, err)
	}
	return nil
}

func mountTmpfs(target, options string, flags uintptr) error {
	if err := unix.Mount("tmpfs", target, "tmpfs", flags|unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount tmpfs on %s: %w", target, err)
	}
	return nil
}
