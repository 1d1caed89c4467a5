package compat

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// sample is one file of the folder, with its variables substituted.
type sample struct {
	// path is relative to the folder, with slashes.
	path string
	// name is the name of its cluster and of its namespace.
	name string
	// raw is the file, and text what kubectl gets of it.
	raw  []byte
	text []byte
	// objects are the objects in it, in their order.
	objects []*unstructured.Unstructured
	// remarks are oddities of the file that change nothing.
	remarks []string
	// notManifest says why the file is not meant to be applied; "" if it is.
	notManifest string
}

// loadSamples reads all YAML files below dir, in the order of their paths.
func loadSamples(dir string) ([]*sample, error) {
	var samples []*sample
	names := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			return err
		}
		s, err := newSample(path, raw)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if other, taken := names[s.name]; taken {
			return fmt.Errorf("%s and %s would both get the namespace %s; mend sampleName", other, path, s.name)
		}
		names[s.name] = path
		samples = append(samples, s)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("read samples: %s holds no YAML files", dir)
	}
	return samples, nil
}

func newSample(path string, raw []byte) (*sample, error) {
	return (&sample{path: path, raw: raw}).renamed(sampleName(path))
}

// renamed returns the sample with another name of its cluster.
func (s *sample) renamed(name string) (*sample, error) {
	s = &sample{path: s.path, raw: s.raw, name: name}
	var err error
	if s.text, err = substitute(s.raw, name); err != nil {
		return nil, err
	}
	documents, err := split(s.text)
	if err != nil {
		return nil, err
	}
	for i, document := range documents {
		content := map[string]any{}
		if err := yaml.Unmarshal(document, &content); err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		if err := yaml.UnmarshalStrict(document, &map[string]any{}); err != nil {
			s.remarks = append(s.remarks, fmt.Sprintf("document %d: %s; the last one counts, for kubectl too", i+1, duplicate(err)))
		}
		o := &unstructured.Unstructured{Object: content}
		if isOurs(o) && content["spec"] == nil {
			s.remarks = append(s.remarks, describe(o)+" has no spec, which is taken for one without settings")
		}
		s.objects = append(s.objects, o)
	}
	s.notManifest = whyNotManifest(s.objects)
	return s, nil
}

// matches tells whether one of the parts stands in the path, or there are none.
func (s *sample) matches(parts []string) bool {
	return len(parts) == 0 || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s.path, part) })
}

// duplicate is what the strict reader says, without where it stands in its own words.
func duplicate(err error) string {
	text := err.Error()
	if _, after, found := strings.Cut(text, "line "); found {
		text = "line " + after
	}
	return text
}

// split returns the documents that are not empty.
func split(text []byte) ([][]byte, error) {
	var documents [][]byte
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		content := map[string]any{}
		if err := yaml.Unmarshal(document, &content); err == nil && len(content) == 0 {
			continue
		}
		documents = append(documents, document)
	}
}

// toolKinds are kinds that are read by a tool and never sent to an API server.
var toolKinds = map[string]string{
	"clusterctl.cluster.x-k8s.io": "clusterctl",
	"kustomize.config.k8s.io":     "kustomize",
}

// whyNotManifest tells which files are no manifests, by what stands in them.
func whyNotManifest(objects []*unstructured.Unstructured) string {
	if len(objects) == 0 {
		return "it holds no object"
	}
	for _, o := range objects {
		if o.GetAPIVersion() == "" || o.GetKind() == "" {
			return "it has no apiVersion or no kind"
		}
		if tool, ok := toolKinds[o.GroupVersionKind().Group]; ok {
			return fmt.Sprintf("its kind %s is read by %s, not by an API server", o.GetKind(), tool)
		}
	}
	return ""
}

// commonWords are parts of the samples' paths that tell them apart from nothing.
var commonWords = []string{"examples", "templates", "template", "e2e", "data", "infrastructure", "cluster"}

// sampleName makes a short name that is a DNS label out of a path.
func sampleName(path string) string {
	words := strings.FieldsFunc(strings.ToLower(strings.TrimSuffix(path, filepath.Ext(path))), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(commonWords, w) })
	if len(words) == 0 {
		words = []string{"sample"}
	}
	return strings.Join(slices.Compact(words), "-")
}
