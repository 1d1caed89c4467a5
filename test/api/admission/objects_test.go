package admission_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// recorder keeps the warnings the API server answers with.
type recorder struct {
	lock     sync.Mutex
	warnings []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (r *recorder) HandleWarningHeader(_ int, _ string, text string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.warnings = append(r.warnings, text)
}

func (r *recorder) clear() {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.warnings = nil
}

// take returns the warnings since it was called last.
func (r *recorder) take() []string {
	r.lock.Lock()
	defer r.lock.Unlock()
	taken := r.warnings
	r.warnings = nil
	return taken
}

// parse makes an object of a manifest, as kubectl does: nothing but what stands
// there is sent.
func parse(t *testing.T, namespace, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(manifest), &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetNamespace(namespace)
	return object
}

const (
	controlPlane = `
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: RKE2ControlPlane
metadata:
  name: cp
spec:
  version: v1.35.3+rke2r1
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: LabMachineTemplate, name: servers}
`
	machineConfig = `
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: RKE2Config
metadata:
  name: config
spec: {}
`
)

// oldControlPlane is a control plane in the older version of the API.
func oldControlPlane(namespace string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "RKE2ControlPlane",
		"metadata": map[string]any{"name": "old", "namespace": namespace},
		"spec": map[string]any{
			"version":         "v1.35.3+rke2r1",
			"rolloutStrategy": map[string]any{"type": "RollingUpdate"},
			"machineTemplate": map[string]any{"infrastructureRef": map[string]any{
				"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "LabMachineTemplate", "name": "servers",
			}},
		},
	}}
	return object
}

// set changes one field of an object.
func set(t *testing.T, object *unstructured.Unstructured, value any, fields ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(object.Object, value, fields...); err != nil {
		t.Fatal(err)
	}
}

// refused wants an error of validation with a text in it.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if !apierrors.IsInvalid(err) {
		t.Fatalf("got %v, want it refused as invalid", err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// warnings wants exactly those that begin with the texts.
func warnings(t *testing.T, want ...string) {
	t.Helper()
	if got := warned.take(); !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got warnings %q\nwant %q", got, want)
	}
}

// split returns the documents of a YAML file.
func split(file string) ([][]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var documents [][]byte
	for reader := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(document)) > 0 {
			documents = append(documents, document)
		}
	}
}
