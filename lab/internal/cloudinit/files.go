package cloudinit

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/userdata"
)

// File is one entry of write_files, decoded.
type File struct {
	userdata.File
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
	return File{
		File:  userdata.File{Path: raw.Path, Content: content, Mode: mode, Owner: owner, Append: raw.Append},
		Defer: raw.Defer,
	}, nil
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
		return userdata.Gunzip([]byte(content))
	case "gz+b64", "gz+base64", "gzip+b64", "gzip+base64":
		compressed, err := decodeBase64(content)
		if err != nil {
			return nil, err
		}
		return userdata.Gunzip(compressed)
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
