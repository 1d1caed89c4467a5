package cloudinit

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"sigs.k8s.io/yaml"
)

// File is one entry of write_files, decoded.
type File struct {
	Path    string
	Content []byte
	Mode    fs.FileMode
	// Owner is USER or USER:GROUP, by name or number.
	Owner  string
	Append bool
	// Defer moves the file after all files that are not deferred.
	Defer bool
}

// rawFile is an entry as it is written.
type rawFile struct {
	Path        string          `json:"path"`
	Content     string          `json:"content"`
	Encoding    string          `json:"encoding"`
	Owner       string          `json:"owner"`
	Permissions json.RawMessage `json:"permissions"`
	Append      bool            `json:"append"`
	Defer       bool            `json:"defer"`
}

// Defaults of cloud-init.
const (
	defaultMode  = 0o644
	defaultOwner = "root:root"
)

func parseFiles(data json.RawMessage) ([]File, error) {
	var entries []json.RawMessage
	if err := yaml.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("write_files must be a list: %w", err)
	}
	files := make([]File, 0, len(entries))
	for i, entry := range entries {
		var raw rawFile
		if err := yaml.UnmarshalStrict(entry, &raw); err != nil {
			return nil, fmt.Errorf("write_files, entry %d: %w", i+1, err)
		}
		file, err := raw.decode()
		if err != nil {
			return nil, fmt.Errorf("write_files, entry %d (%s): %w", i+1, raw.Path, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func (raw rawFile) decode() (File, error) {
	if !filepath.IsAbs(raw.Path) {
		return File{}, fmt.Errorf("the path %q is not absolute", raw.Path)
	}
	mode, err := parseMode(raw.Permissions)
	if err != nil {
		return File{}, err
	}
	content, err := decodeContent(raw.Content, raw.Encoding)
	if err != nil {
		return File{}, err
	}
	owner := raw.Owner
	if owner == "" {
		owner = defaultOwner
	}
	return File{Path: raw.Path, Content: content, Mode: mode, Owner: owner, Append: raw.Append, Defer: raw.Defer}, nil
}

// parseMode reads octal text ("0640") or a number, which YAML has already read
// as octal if it began with a zero.
func parseMode(data json.RawMessage) (fs.FileMode, error) {
	if len(data) == 0 || string(data) == "null" {
		return defaultMode, nil
	}
	base := 10
	text := string(data)
	if json.Unmarshal(data, &text) == nil {
		base = 8
		text = strings.TrimPrefix(text, "0o")
	}
	bits, err := strconv.ParseUint(text, base, 32)
	if err != nil || bits > 0o7777 {
		return 0, fmt.Errorf("permissions %s are not an octal mode such as \"0640\"", data)
	}
	mode := fs.FileMode(bits & 0o777)
	for bit, flag := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if bits&bit != 0 {
			mode |= flag
		}
	}
	return mode, nil
}

func decodeContent(content, encoding string) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "text/plain":
		return []byte(content), nil
	case "b64", "base64":
		return decodeBase64(content)
	case "gz", "gzip":
		return gunzip([]byte(content))
	case "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
		compressed, err := decodeBase64(content)
		if err != nil {
			return nil, err
		}
		return gunzip(compressed)
	}
	return nil, fmt.Errorf("unknown encoding %q", encoding)
}

func decodeBase64(content string) ([]byte, error) {
	compact := strings.Join(strings.Fields(content), "")
	data, err := base64.StdEncoding.DecodeString(compact)
	if err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	return data, nil
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
	err = os.Chown(path, uid, gid)
	if errors.Is(err, syscall.EINVAL) {
		note, err = fmt.Sprintf("%s stays with root: without root rights a lab machine has no user %s", f.Path, f.Owner), nil
	}
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

// lookUpOwner resolves USER[:GROUP]; a missing part is left as it is (-1).
func lookUpOwner(owner string) (uid, gid int, err error) {
	uid, gid = -1, -1
	name, group, _ := strings.Cut(owner, ":")
	if name != "" {
		if uid, err = lookUp(name, func(name string) (string, error) {
			u, err := user.Lookup(name)
			if err != nil {
				return "", err
			}
			return u.Uid, nil
		}); err != nil {
			return 0, 0, fmt.Errorf("owner %q: %w", owner, err)
		}
	}
	if group != "" {
		if gid, err = lookUp(group, func(name string) (string, error) {
			g, err := user.LookupGroup(name)
			if err != nil {
				return "", err
			}
			return g.Gid, nil
		}); err != nil {
			return 0, 0, fmt.Errorf("owner %q: %w", owner, err)
		}
	}
	return uid, gid, nil
}

func lookUp(name string, find func(string) (string, error)) (int, error) {
	if id, err := strconv.ParseUint(name, 10, 32); err == nil && id < math.MaxUint32 {
		return int(id), nil
	}
	id, err := find(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(id)
}
