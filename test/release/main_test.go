package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
	utilsyaml "sigs.k8s.io/cluster-api/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
)

const version = "v1.2.3"

// root is the folder of the repository, dist that of the release and drover
// the manager, both made from it for these tests.
var root, dist, drover string

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 0, fmt.Errorf("KUBEBUILDER_ASSETS is not set: these tests need a folder with etcd and kube-apiserver")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var err error
	if root, err = filepath.Abs(filepath.Join("..", "..")); err != nil {
		return 0, err
	}
	if dist, err = os.MkdirTemp("", "release-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(dist) //nolint:errcheck // a temporary folder
	drover = filepath.Join(dist, "drover")
	if err := command(ctx, root, "make", "manifests", "VERSION="+version, "DIST="+dist); err != nil {
		return 0, err
	}
	if err := command(ctx, root, "go", "build", "-o", drover, "./cmd/drover"); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// command runs a program in a folder and fails with what it printed.
func command(ctx context.Context, folder, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	// A make of its own, even when the tests were started by make.
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
	return nil
}

// released reads a file of the release as clusterctl does, with the given
// variables.
func released(t *testing.T, name string, variables map[string]string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dist, "release", name))
	if err != nil {
		t.Fatal(err)
	}
	return processed(t, name, data, variables)
}

func processed(t *testing.T, name string, data []byte, variables map[string]string) []*unstructured.Unstructured {
	t.Helper()
	data, err := yamlprocessor.NewSimpleProcessor().Process(data, func(variable string) (string, error) {
		value, ok := variables[variable]
		if !ok {
			return "", fmt.Errorf("the variable %s is not set", variable)
		}
		return value, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	list, err := utilsyaml.ToUnstructured(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	objects := make([]*unstructured.Unstructured, 0, len(list))
	for i := range list {
		objects = append(objects, &list[i])
	}
	return objects
}

// kustomized builds a tree of the repository, as clusterctl would read it.
func kustomized(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "kustomize"), "build", filepath.Join(root, folder)).Output()
	if err != nil {
		t.Fatalf("kustomize build %s: %v", folder, err)
	}
	return processed(t, folder, out, nil)
}

// into converts an object, and fails on fields that the type does not have.
func into[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	data, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	typed := new(T)
	if err := utilyaml.UnmarshalStrict(data, typed); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return typed
}

// all returns the objects of a kind.
func all[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) []*T {
	t.Helper()
	var found []*T
	for _, object := range objects {
		if object.GetKind() == kind {
			found = append(found, into[T](t, object))
		}
	}
	return found
}

// one returns the only object of a kind.
func one[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) *T {
	t.Helper()
	found := all[T](t, objects, kind)
	if len(found) != 1 {
		t.Fatalf("%d objects of kind %s, want one", len(found), kind)
	}
	return found[0]
}
