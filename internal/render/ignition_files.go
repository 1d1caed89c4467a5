package render

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	baseutil "github.com/coreos/butane/base/util"
	"github.com/coreos/ignition/v2/config/v3_3/types"
	"k8s.io/utils/ptr"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// maxUnpacked is how much of a compressed file is read to see whether it is whole.
const maxUnpacked = 64 << 20

// ignition returns the file as an item of storage.files. As on other machines it takes the place of a file of the
// image, and it is root's with mode 0644 when nothing else is said.
func (f *file) ignition() (types.File, error) {
	if clean := path.Clean(f.path); clean != f.path {
		return types.File{}, fmt.Errorf("write the path as %s", clean)
	}
	mode, err := ignitionMode(f.mode)
	if err != nil {
		return types.File{}, err
	}
	contents, err := ignitionContents(f.encoding, f.content)
	if err != nil {
		return types.File{}, err
	}
	node := types.Node{Path: f.path, Overwrite: ptr.To(true)}
	user, group, _ := strings.Cut(f.owner, ":")
	node.User.ID, node.User.Name = ignitionOwner(user)
	node.Group.ID, node.Group.Name = ignitionOwner(group)
	return types.File{Node: node, FileEmbedded1: types.FileEmbedded1{Mode: mode, Contents: contents}}, nil
}

// ignitionOwner returns a user or group as a number or a name. Neither means root.
func ignitionOwner(owner string) (*int, *string) {
	if owner == "" {
		return nil, nil
	}
	if id, err := strconv.ParseUint(owner, 10, 31); err == nil {
		return ptr.To(int(id)), nil
	}
	return nil, &owner
}

func ignitionMode(permissions string) (*int, error) {
	if permissions == "" {
		permissions = modePublic
	}
	mode, err := strconv.ParseUint(strings.TrimPrefix(permissions, "0o"), 8, 12)
	if err != nil {
		return nil, fmt.Errorf("permissions %q is not octal: write it like \"0640\"", permissions)
	}
	if mode&0o7000 != 0 {
		return nil, fmt.Errorf("permissions %q: Ignition sets no setuid, setgid or sticky bit; "+
			"use chmod in preRKE2Commands", permissions)
	}
	return ptr.To(int(mode)), nil
}

// ignitionContents returns content as a data URL, which keeps every byte. What is not compressed already is
// compressed where that makes it smaller; infrastructure allows little space.
func ignitionContents(encoding bootstrapv1.Encoding, content []byte) (types.Resource, error) {
	if encoding == bootstrapv1.Base64 || encoding == bootstrapv1.GzipBase64 {
		decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(content)), ""))
		if err != nil {
			return types.Resource{}, fmt.Errorf("the content is not base64, which encoding: %s says it is", encoding)
		}
		content = decoded
	}
	var compression *string
	if encoding == bootstrapv1.Gzip || encoding == bootstrapv1.GzipBase64 {
		if err := checkGzip(content); err != nil {
			return types.Resource{}, fmt.Errorf("the content is not gzip, which encoding: %s says it is", encoding)
		}
		compression = ptr.To("gzip")
	}
	source, packed, err := baseutil.MakeDataURL(content, compression, true)
	if err != nil {
		return types.Resource{}, fmt.Errorf("make a data URL: %w", err)
	}
	if compression == nil {
		compression = packed
	}
	return types.Resource{Source: &source, Compression: compression}, nil
}

// checkGzip makes sure that content can be unpacked: Ignition gives up on the whole machine where it cannot.
func checkGzip(content []byte) error {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("read the head: %w", err)
	}
	_, err = io.CopyN(io.Discard, r, maxUnpacked)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("unpack: %w", err)
	}
	return nil
}
