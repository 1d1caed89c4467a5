package cri

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// nonRoot is the user that images without a shell run as by custom.
const nonRoot = 65532

// Image is what the containers of an image see and run: these files and
// nothing else of the machine.
type Image struct {
	// Files are program files of the machine by their path in the container.
	Files map[string]string `json:"files"`
	// Entrypoint is run by containers that name no command.
	Entrypoint []string `json:"entrypoint,omitempty"`
}

// Catalog holds the images that can be pulled, by repository; each is there in
// every version. A nil catalog has every image, and their containers see the
// whole machine.
type Catalog map[string]Image

// ReadCatalog reads a catalog from a JSON file.
func ReadCatalog(path string) (Catalog, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read images: %w", err)
	}
	catalog := Catalog{}
	if err := json.Unmarshal(data, &catalog); err != nil {
		return nil, fmt.Errorf("read images in %s: %w", path, err)
	}
	return catalog, nil
}

// find returns the image of that name. A nil catalog returns nil for each.
func (c Catalog) find(name string) (*Image, error) {
	if c == nil {
		return nil, nil
	}
	image, ok := c[repository(name)]
	if !ok {
		return nil, fmt.Errorf("the laboratory has no image %s; it has %s", name, strings.Join(slices.Sorted(maps.Keys(c)), ", "))
	}
	return &image, nil
}

// repository is an image's name without its tag and digest.
func repository(name string) string {
	name, _, _ = strings.Cut(name, "@")
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name = name[:colon]
	}
	return name
}

// commandOf returns what the container runs.
func commandOf(config *runtimeapi.ContainerConfig, image *Image) []string {
	command := config.GetCommand()
	if len(command) == 0 && image != nil {
		command = image.Entrypoint
	}
	argv := append(append([]string{}, command...), config.GetArgs()...)
	if len(argv) == 0 && image == nil {
		return sleeper
	}
	return argv
}
