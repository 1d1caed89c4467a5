package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the one that images without root conventionally run as.
const user = "65532:65532"

// file is one file of the image.
type file struct {
	path string
	data []byte
	mode int64
}

type platformImage struct {
	image    v1.Image
	platform *v1.Platform
}

// image puts files, and nothing else, into an image for a platform.
func (b build) image(platform *v1.Platform, files []file) (v1.Image, error) {
	archive, err := b.archive(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{
		Author: "drover", Created: v1.Time{Time: b.Created}, CreatedBy: "tools/image",
	}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Created = v1.Time{Time: b.Created}
	config.Config = v1.Config{User: user, WorkingDir: "/", Entrypoint: []string{"/manager"}, Labels: map[string]string{
		"org.opencontainers.image.source":   "https://github.com/drover-project/drover",
		"org.opencontainers.image.version":  b.Version,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}}
	return mutate.ConfigFile(image, config)
}

func (b build) archive(files []file) ([]byte, error) {
	buffer := &bytes.Buffer{}
	w := tar.NewWriter(buffer)
	for _, f := range files {
		header := &tar.Header{Name: f.path, Size: int64(len(f.data)), Mode: f.mode, ModTime: b.Created, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.path, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.path, err)
		}
	}
	return buffer.Bytes(), w.Close()
}

// write replaces the folder out by a layout with one image for all platforms.
func (b build) write(images []platformImage, out string) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, i := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: i.image, Descriptor: v1.Descriptor{Platform: i.platform}})
	}
	if err := os.RemoveAll(out); err != nil {
		return v1.Hash{}, err
	}
	path, err := layout.Write(out, empty.Index)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("write %s: %w", out, err)
	}
	names := map[string]string{"org.opencontainers.image.ref.name": b.Version, "io.containerd.image.name": b.Name}
	if err := path.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return v1.Hash{}, fmt.Errorf("write %s: %w", out, err)
	}
	return index.Digest()
}
