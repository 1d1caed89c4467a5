// Package manifest reads Kubernetes manifests, checks them before a lab is
// started for them, and applies them.
package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Object is an object of a manifest and where it stands.
type Object struct {
	*unstructured.Unstructured
	// File is the path of the manifest, and Document the number of the object in it, from 1.
	File     string
	Document int
}

// String names the object for messages.
func (o Object) String() string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	return fmt.Sprintf("%s: document %d (%s %s)", o.File, o.Document, o.GetKind(), name)
}

// Load reads manifests. A path may be a file, a folder (all its *.yaml and
// *.yml), or "-" for standard input.
func Load(paths []string, stdin io.Reader) ([]Object, error) {
	var objects []Object
	var faults []error
	for _, path := range paths {
		files, err := expand(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := readFile(file, stdin)
			if err != nil {
				return nil, err
			}
			found, err := parse(file, data)
			objects = append(objects, found...)
			faults = append(faults, err)
		}
	}
	return objects, errors.Join(faults...)
}

func expand(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		found, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return nil, fmt.Errorf("read manifests in %s: %w", path, err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the folder %s holds no *.yaml", path)
	}
	slices.Sort(files)
	return files, nil
}

func readFile(path string, stdin io.Reader) ([]byte, error) {
	var data []byte
	var err error
	if path == "-" {
		data, err = io.ReadAll(stdin)
	} else {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return data, nil
}

func parse(file string, data []byte) ([]Object, error) {
	var objects []Object
	var faults []error
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return objects, fmt.Errorf("%s: %w", file, err)
		}
		content := map[string]any{}
		if err := yaml.UnmarshalStrict(document, &content); err != nil {
			faults = append(faults, fmt.Errorf("%s: document %d is not valid YAML: %w", file, number, err))
			continue
		}
		if len(content) == 0 {
			continue
		}
		object := Object{Unstructured: &unstructured.Unstructured{Object: content}, File: file, Document: number}
		if missing := object.missing(); missing != "" {
			faults = append(faults, fmt.Errorf("%s: document %d has no %s", file, number, missing))
			continue
		}
		objects = append(objects, object)
	}
	return objects, errors.Join(faults...)
}

// missing lists the fields that every object needs and this one lacks.
func (o Object) missing() string {
	var fields []string
	if o.GetAPIVersion() == "" {
		fields = append(fields, "apiVersion")
	}
	if o.GetKind() == "" {
		fields = append(fields, "kind")
	}
	if o.GetName() == "" {
		fields = append(fields, "metadata.name (a string)")
	}
	return strings.Join(fields, ", ")
}
