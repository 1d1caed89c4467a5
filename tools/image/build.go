package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// build is one image.
type build struct {
	// Source is the folder of the module, Package what is built there.
	Source, Package string
	// Created is the time of the image and of every file in it.
	Created time.Time
	// Name is the full name, Version its tag.
	Name, Version string
}

// run builds for all platforms, writes the layout to out and returns the
// digest of the image index.
func (b build) run(ctx context.Context, platforms []string, out string) (v1.Hash, error) {
	work, err := os.MkdirTemp("", "image-")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a temporary folder
	license, err := os.ReadFile(filepath.Join(b.Source, "LICENSE"))
	if err != nil {
		return v1.Hash{}, err
	}
	var images []platformImage
	for _, name := range platforms {
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("platform %q: %w", name, err)
		}
		program, err := b.compile(ctx, platform, work)
		if err != nil {
			return v1.Hash{}, err
		}
		image, err := b.image(platform, []file{{"LICENSE", license, 0o444}, {"manager", program, 0o555}})
		if err != nil {
			return v1.Hash{}, fmt.Errorf("image for %s: %w", platform, err)
		}
		images = append(images, platformImage{image, platform})
	}
	return b.write(images, out)
}

// compile returns a static binary without anything of this machine in it.
func (b build) compile(ctx context.Context, platform *v1.Platform, work string) ([]byte, error) {
	out := filepath.Join(work, platform.OS+"-"+platform.Architecture)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", out, b.Package)
	cmd.Dir = b.Source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture, "GOFLAGS=", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s for %s: %w\n%s", b.Package, platform, err, strings.TrimSpace(string(output)))
	}
	return os.ReadFile(out)
}
