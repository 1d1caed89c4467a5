package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// settings are the merged values by key; a scalar is a list of one.
type settings map[string][]string

// readSettings reads file and then the *.yaml files of the folder file+".d" in
// alphabetical order. A later value replaces an earlier one, and "key+:" adds
// to it. No file at all is an empty configuration, as in RKE2.
func readSettings(file string) (settings, error) {
	files := []string{file}
	entries, err := os.ReadDir(file + ".d")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	for _, entry := range entries {
		if extension := filepath.Ext(entry.Name()); extension == ".yaml" || extension == ".yml" {
			files = append(files, filepath.Join(file+".d", entry.Name()))
		}
	}
	merged := settings{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		if err := merged.merge(data); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", name, err)
		}
	}
	return merged, nil
}

func (s settings) merge(data []byte) error {
	var document map[string]any
	// The parser's own message could quote a secret of the file.
	if err := yaml.UnmarshalStrict(data, &document, useNumber); err != nil {
		return errors.New("is not a YAML map with every key once")
	}
	for _, name := range sortedKeys(document) {
		key, add := strings.CutSuffix(name, "+")
		if _, known := keys[key]; !known {
			return fmt.Errorf("unknown key %q: see https://docs.rke2.io/reference/server_config for those of RKE2", key)
		}
		values, err := scalars(document[name])
		if err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
		if add {
			values = append(slices.Clone(s[key]), values...)
		}
		s[key] = values
	}
	return nil
}

// scalars turns a value of the file into texts.
func scalars(value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case []any:
		var values []string
		for _, item := range v {
			if _, nested := item.([]any); nested {
				return nil, errors.New("must not be a list of lists")
			}
			texts, err := scalars(item)
			if err != nil {
				return nil, err
			}
			values = append(values, texts...)
		}
		return values, nil
	case map[string]any:
		return nil, errors.New("must not be a map")
	default:
		return []string{fmt.Sprint(v)}, nil
	}
}

// check makes sure that every value has its key's type.
func (s settings) check() error {
	for _, key := range sortedKeys(s) {
		values := s[key]
		if keys[key] != list && len(values) > 1 {
			return fmt.Errorf("key %q: takes one value, not %d", key, len(values))
		}
		if len(values) == 0 {
			continue
		}
		var err error
		switch keys[key] {
		case flag:
			_, err = strconv.ParseBool(values[0])
		case number:
			_, err = strconv.Atoi(values[0])
		default:
		}
		if err != nil {
			return fmt.Errorf("key %q: %q is not a %s", key, values[0], map[kind]string{flag: "boolean", number: "number"}[keys[key]])
		}
		if slices.Contains(unsupported, key) && values[0] != "false" && values[0] != "" {
			return fmt.Errorf("key %q: the lab's stand-in for RKE2 cannot do this", key)
		}
	}
	return nil
}

// sortedKeys makes the first of several errors always the same one.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// useNumber keeps large numbers as they were written.
func useNumber(d *json.Decoder) *json.Decoder {
	d.UseNumber()
	return d
}
