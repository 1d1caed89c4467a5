package cri

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// mount shows a file or folder of the machine at another place of a container.
type mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// mountsOf returns what a container must see differently than the machine does.
func mountsOf(config *runtimeapi.ContainerConfig) []mount {
	var mounts []mount
	for _, m := range config.GetMounts() {
		source, target := filepath.Clean(m.GetHostPath()), filepath.Clean(m.GetContainerPath())
		if m.GetHostPath() == "" || source == target && !m.GetReadonly() {
			continue
		}
		mounts = append(mounts, mount{Source: source, Target: target, ReadOnly: m.GetReadonly()})
	}
	return mounts
}

// mount does it, in the mount namespace of this process.
func (m mount) mount() error {
	// Like other runtimes: a folder that is not there yet is made.
	source, err := os.Stat(m.Source)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(m.Source, 0o755); err != nil {
			return err
		}
		source, err = os.Stat(m.Source)
	}
	if err != nil {
		return err
	}
	if err := makeMountPoint(m.Target, source.IsDir()); err != nil {
		return err
	}
	if err := unix.Mount(m.Source, m.Target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if !m.ReadOnly {
		return nil
	}
	return unix.MountSetattr(unix.AT_FDCWD, m.Target, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// makeMountPoint makes sure that there is a folder, or a file, to mount on. A
// machine cannot write everywhere; where it cannot, the folder above gets a
// stand-in that only this container sees.
func makeMountPoint(target string, folder bool) error {
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(target)
	if err := makeMountPoint(parent, true); err != nil {
		return err
	}
	err := create(target, folder)
	if errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission) {
		if err := openUp(parent); err != nil {
			return fmt.Errorf("make %s writable: %w", parent, err)
		}
		err = create(target, folder)
	}
	return err
}

func create(path string, folder bool) error {
	if folder {
		return os.Mkdir(path, 0o755)
	}
	return os.WriteFile(path, nil, 0o644)
}

// openUp covers a folder with one in memory that holds the same entries.
func openUp(folder string) error {
	if folder == "/" {
		return errors.New("a lab machine has no place for new entries there")
	}
	entries, err := readEntries(folder)
	defer func() {
		for _, e := range entries {
			_ = unix.Close(e.tree)
		}
	}()
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return err
	}
	for _, e := range entries {
		if err := e.restore(folder); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

// entry is something in a folder: a symbolic link, or a detached copy of a
// file, a folder or a mount.
type entry struct {
	name   string
	folder bool
	link   string
	tree   int // a descriptor, or -1 for a link
}

// readEntries takes hold of all entries of a folder. The caller closes their
// trees, also after an error.
func readEntries(folder string) ([]entry, error) {
	found, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, f := range found {
		path := filepath.Join(folder, f.Name())
		e := entry{name: f.Name(), folder: f.IsDir(), tree: -1}
		if f.Type()&fs.ModeSymlink != 0 {
			e.link, err = os.Readlink(path)
		} else {
			e.tree, err = unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has gone away meanwhile
		}
		if err != nil {
			return entries, fmt.Errorf("%s: %w", path, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// restore puts the entry into a new folder.
func (e entry) restore(folder string) error {
	path := filepath.Join(folder, e.name)
	if e.tree < 0 {
		return os.Symlink(e.link, path)
	}
	if err := create(path, e.folder); err != nil {
		return err
	}
	return unix.MoveMount(e.tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}
