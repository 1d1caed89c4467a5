package ignition

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/drover-project/drover/lab/internal/userdata"
)

// What Ignition takes where a config has no mode.
const (
	defaultFileMode      fs.FileMode = 0o644
	defaultDirectoryMode fs.FileMode = 0o755
)

// entry is something that can be put below root. It returns a note for the log.
type entry interface {
	node() Node
	write(root string) (note string, err error)
}

func (n Node) node() Node { return n }

// entries are ordered by depth, so that a folder gets its mode before something
// is put in it.
func (c *Config) entries() []entry {
	var list []entry
	for _, d := range c.Directories {
		list = append(list, d)
	}
	for _, f := range c.Files {
		list = append(list, f)
	}
	for _, l := range c.Links {
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		return strings.Count(a.node().Path, "/") - strings.Count(b.node().Path, "/")
	})
	return list
}

// makeRoom removes what is in the place of entries that overwrite.
func makeRoom(root string, entries []entry) error {
	for _, e := range entries {
		if !e.node().Overwrite {
			continue
		}
		if err := os.RemoveAll(filepath.Join(root, e.node().Path)); err != nil {
			return fmt.Errorf("overwrite %s: %w", e.node().Path, err)
		}
	}
	return nil
}

// look returns what is at a path, nil if there is nothing.
func look(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

func (d Directory) write(root string) (string, error) {
	path := filepath.Join(root, d.Path)
	there, err := look(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("storage.directories (%s): %w", d.Path, err)
	case there != nil && !there.IsDir():
		return "", fmt.Errorf("storage.directories (%s): something else is there, and overwrite is false", d.Path)
	case there == nil && d.Mode == nil:
		d.Mode = ptr.To(defaultDirectoryMode)
	}
	note, err := d.make(path)
	if err != nil {
		return "", fmt.Errorf("storage.directories (%s): %w", d.Path, err)
	}
	return note, nil
}

func (d Directory) make(path string) (note string, err error) {
	if err := os.MkdirAll(path, defaultDirectoryMode); err != nil {
		return "", err
	}
	if note, err = userdata.SetOwner(path, d.Path, d.Owner); err != nil {
		return "", err
	}
	if d.Mode == nil {
		return note, nil
	}
	return note, os.Chmod(path, *d.Mode)
}

// write leaves the content of a file that exists alone, except that it may
// append: with content of its own it has to overwrite.
func (f File) write(root string) (string, error) {
	there, err := look(filepath.Join(root, f.Path))
	switch {
	case err != nil:
		return "", fmt.Errorf("storage.files (%s): %w", f.Path, err)
	case there != nil && !there.Mode().IsRegular():
		return "", fmt.Errorf("storage.files (%s): something that is no file is there, and overwrite is false", f.Path)
	case there != nil && f.Content != nil:
		return "", fmt.Errorf("storage.files (%s): a file is there, and overwrite is false", f.Path)
	}
	file := userdata.File{
		Path: f.Path, Content: slices.Concat(f.Content, f.Appended), Owner: f.Owner,
		Mode: ptr.Deref(f.Mode, defaultFileMode), Append: there != nil,
	}
	if there != nil && f.Mode == nil {
		file.Mode = there.Mode()
	}
	note, err := file.Write(root)
	if err != nil {
		return "", fmt.Errorf("storage.files: %w", err)
	}
	return note, nil
}

func (l Link) write(root string) (note string, err error) {
	if err := l.make(root); err != nil {
		return "", fmt.Errorf("storage.links (%s): %w", l.Path, err)
	}
	if l.Owner != ":" {
		note = "the owner of the link " + l.Path + " has no effect on a lab machine"
	}
	return note, nil
}

func (l Link) make(root string) error {
	path := filepath.Join(root, l.Path)
	if err := os.MkdirAll(filepath.Dir(path), defaultDirectoryMode); err != nil {
		return err
	}
	there, err := look(path)
	if err != nil {
		return err
	}
	if there != nil {
		return l.same(root, path, there)
	}
	if l.Hard {
		return os.Link(filepath.Join(root, l.Target), path)
	}
	return os.Symlink(l.Target, path)
}

// same makes sure that what is there is the link already.
func (l Link) same(root, path string, there fs.FileInfo) error {
	if l.Hard {
		target, err := os.Lstat(filepath.Join(root, l.Target))
		if err == nil && os.SameFile(there, target) {
			return nil
		}
	} else if target, err := os.Readlink(path); err == nil && filepath.Clean(target) == filepath.Clean(l.Target) {
		return nil
	}
	return errors.New("something else is there, and overwrite is false")
}
