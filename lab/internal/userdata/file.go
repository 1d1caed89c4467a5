package userdata

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file that user data ask for.
type File struct {
	Path    string
	Content []byte
	Mode    fs.FileMode
	// Owner is USER, USER:GROUP or :GROUP, by name or number.
	Owner  string
	Append bool
}

// Write puts the file below root, which is "" on a machine. Its folders are
// made when they are missing. A note is returned when the owner could not be
// set because the machine's user namespace has no such id.
func (f File) Write(root string) (note string, err error) {
	path := filepath.Join(root, f.Path)
	uid, gid, err := lookUpOwner(f.Owner)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", f.Path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("write %s: %w", f.Path, err)
	}
	if err := f.writeContent(path); err != nil {
		return "", fmt.Errorf("write %s: %w", f.Path, err)
	}
	note, err = chown(path, f.Path, f.Owner, uid, gid)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", f.Path, err)
	}
	// Last, since a change of owner clears the setuid bits.
	if err := os.Chmod(path, f.Mode); err != nil {
		return "", fmt.Errorf("write %s: %w", f.Path, err)
	}
	return note, nil
}

// writeContent opens the file for its owner only: secrets are never readable
// by others, not even until the mode is set.
func (f File) writeContent(path string) error {
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if f.Append {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(f.Content)
	return errors.Join(err, file.Close())
}
