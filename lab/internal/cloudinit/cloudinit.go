// Package cloudinit does for a lab machine what cloud-init does for a real one,
// as far as bootstrap data needs it: write_files and runcmd of a cloud-config
// document. Where cloud-init would warn and go on with a guess (unknown
// encoding, bad permissions, a broken document), this package stops with an
// error, because in a laboratory a fault should be seen at once.
//
// Facts about the format: https://docs.cloud-init.io/en/latest/reference/modules.html
package cloudinit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/userdata"
)

const (
	jinjaHeader  = "## template: jinja"
	configHeader = "#cloud-config"
)

// Config is what of a cloud-config document is acted on.
type Config struct {
	Files    []File
	Commands []Command
	// Ignored are the top-level keys that a lab machine does not act on, sorted.
	Ignored []string
}

// Parse reads user data: a cloud-config document, plain or compressed with
// gzip, optionally marked as a jinja template. The hostname is what the
// template's expressions for it stand for.
func Parse(data []byte, hostname string) (Config, error) {
	data, err := decompress(data)
	if err != nil {
		return Config{}, err
	}
	text, err := render(string(data), hostname)
	if err != nil {
		return Config{}, err
	}
	if first, _, _ := strings.Cut(text, "\n"); strings.TrimRight(first, " \t\r") != configHeader {
		return Config{}, fmt.Errorf("user data: the first line must be %q (after an optional %q), but it is %.60q", configHeader, jinjaHeader, first)
	}
	document := map[string]json.RawMessage{}
	if err := yaml.UnmarshalStrict([]byte(text), &document); err != nil {
		return Config{}, fmt.Errorf("user data is not valid YAML: %w", err)
	}
	return read(document)
}

func read(document map[string]json.RawMessage) (Config, error) {
	var config Config
	var err error
	for _, key := range slices.Sorted(maps.Keys(document)) {
		switch key {
		case "write_files":
			config.Files, err = parseFiles(document[key])
		case "runcmd":
			config.Commands, err = parseCommands(document[key])
		default:
			config.Ignored = append(config.Ignored, key)
		}
		if err != nil {
			return Config{}, err
		}
	}
	return config, nil
}

// decompress returns data as it is unless it begins with gzip's magic number.
func decompress(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	return userdata.Gunzip(data)
}
