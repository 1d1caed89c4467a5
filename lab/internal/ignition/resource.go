package ignition

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_3/types"
	"github.com/vincent-petithory/dataurl"
	"k8s.io/utils/ptr"

	"github.com/drover-project/drover/lab/internal/userdata"
)

// fetch returns the content of a resource. The empty source is empty content.
func fetch(r types.Resource) ([]byte, error) {
	source := ptr.Deref(r.Source, "")
	if source == "" {
		return []byte{}, nil
	}
	if !strings.HasPrefix(source, "data:") {
		scheme, _, _ := strings.Cut(source, ":")
		return nil, fmt.Errorf("a lab machine reads data URLs, and none of %s", scheme)
	}
	url, err := dataurl.DecodeString(source)
	if err != nil {
		return nil, fmt.Errorf("data URL: %w", err)
	}
	content := url.Data
	if ptr.Deref(r.Compression, "") == "gzip" {
		if content, err = userdata.Gunzip(content); err != nil {
			return nil, err
		}
	}
	return content, verify(content, r.Verification)
}

// verify compares content, unpacked, with the checksum that the config may name.
func verify(content []byte, v types.Verification) error {
	function, want, err := v.HashParts()
	if err != nil {
		return err
	}
	var got string
	switch function {
	case "":
		return nil
	case "sha256":
		sum := sha256.Sum256(content)
		got = hex.EncodeToString(sum[:])
	case "sha512":
		sum := sha512.Sum512(content)
		got = hex.EncodeToString(sum[:])
	}
	if !strings.EqualFold(got, want) {
		return errors.New("the content does not match verification.hash")
	}
	return nil
}

func readFile(f types.File) (File, error) {
	file := File{Node: node(f.Node), Mode: mode(f.Mode)}
	if f.Contents.Source != nil {
		content, err := fetch(f.Contents)
		if err != nil {
			return File{}, fmt.Errorf("contents: %w", err)
		}
		file.Content = content
	}
	for i, resource := range f.Append {
		content, err := fetch(resource)
		if err != nil {
			return File{}, fmt.Errorf("append, entry %d: %w", i+1, err)
		}
		file.Appended = append(file.Appended, content...)
	}
	return file, nil
}

func node(n types.Node) Node {
	owner := idOrName(n.User.ID, n.User.Name) + ":" + idOrName(n.Group.ID, n.Group.Name)
	return Node{Path: n.Path, Owner: owner, Overwrite: ptr.Deref(n.Overwrite, false)}
}

func idOrName(id *int, name *string) string {
	if id != nil {
		return strconv.Itoa(*id)
	}
	return ptr.Deref(name, "")
}

// mode leaves the special bits out, as Ignition does with configs up to 3.3.
func mode(m *int) *fs.FileMode {
	if m == nil {
		return nil
	}
	return ptr.To(fs.FileMode(*m) & fs.ModePerm)
}
