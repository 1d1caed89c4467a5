package compat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestSampleName(t *testing.T) {
	for path, want := range map[string]string{
		"examples/templates/docker/cluster-template.yaml":                                      "docker",
		"cluster-template.yaml":                                                                "sample",
		"examples/templates/docker/cluster-template-kube-vip.yaml":                             "docker-kube-vip",
		"test/e2e/data/infrastructure/cluster-template-docker.yaml":                            "test-docker",
		"test/e2e/data/infrastructure/cluster-from-clusterclass-template-docker-in-place.yaml": "test-from-clusterclass-docker-in-place",
	} {
		if got := sampleName(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestSampleIsSubstitutedAndRead(t *testing.T) {
	s, err := newSample("examples/a.yaml", []byte(`# a comment alone is no object
---
kind: Cluster
apiVersion: cluster.x-k8s.io/v1beta2
metadata:
  name: ${CLUSTER_NAME}
  namespace: ${NAMESPACE}
spec:
  version: ${KUBERNETES_VERSION}+rke2r1
  folder: ${FOLDER:=/default}
  text: "{{ .Other }} $(command) $1"
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.objects) != 1 || s.notManifest != "" || len(s.remarks) > 0 {
		t.Fatalf("got %+v", s)
	}
	o := s.objects[0]
	if o.GetName() != "a" || o.GetNamespace() != "a" {
		t.Errorf("got %s/%s, want a/a", o.GetNamespace(), o.GetName())
	}
	want := map[string]any{"version": version + "+rke2r1", "folder": "/default", "text": "{{ .Other }} $(command) $1"}
	if changes := specDifference(want, o.Object["spec"]); changes != "" {
		t.Error(changes)
	}
}

func TestVariableWithoutValueIsNamed(t *testing.T) {
	_, err := newSample("examples/a.yaml", []byte("kind: A\nname: ${NOBODY_KNOWS}\n"))
	if err == nil || !strings.Contains(err.Error(), "NOBODY_KNOWS") {
		t.Errorf("got %v, want an error that names the variable", err)
	}
}

func TestVariableOfTheEnvironment(t *testing.T) {
	t.Setenv("MY_OWN", "mine")
	t.Setenv("CLUSTER_NAME", "not-this")
	text, err := substitute([]byte("${MY_OWN} ${CLUSTER_NAME}"), "this")
	if got := string(text); err != nil || got != "mine this" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestDuplicateKeyIsRemarked(t *testing.T) {
	s, err := newSample("examples/a.yaml", []byte("apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec:\n  a: 1\n  a: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.remarks) != 1 || !strings.Contains(s.remarks[0], `"a"`) || !strings.Contains(s.remarks[0], "the last one counts") {
		t.Errorf("got %q", s.remarks)
	}
	if got := s.objects[0].Object["spec"].(map[string]any)["a"]; got != int64(2) && got != float64(2) {
		t.Errorf("got %v, want 2", got)
	}
}

func TestWhatIsNoManifest(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n": "its kind Metadata is read by clusterctl, not by an API server",
		"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n": "its kind Kustomization is read by kustomize, not by an API server",
		"replicas: 3\n": "it has no apiVersion or no kind",
		"# nothing\n":   "it holds no object",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n": "",
	} {
		s, err := newSample("a.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if s.notManifest != want {
			t.Errorf("%q: got %q, want %q", text, s.notManifest, want)
		}
	}
}

func TestFolderIsReadDeeply(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"b/two.yml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n", "one.yaml": "# empty\n", "README.md": "no YAML",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	samples, err := loadSamples(dir)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, s := range samples {
		paths = append(paths, s.path)
	}
	if want := []string{"b/two.yml", "one.yaml"}; !slices.Equal(paths, want) {
		t.Errorf("got %v, want %v", paths, want)
	}
	if _, err := loadSamples(t.TempDir()); err == nil {
		t.Error("an empty folder is no error")
	}
	if err := CheckFolder(filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "SAMPLES=DIR") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
}

func TestStubKinds(t *testing.T) {
	text := `
{apiVersion: v1, kind: Secret, metadata: {name: a}}
---
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: a}}
---
{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: RKE2ControlPlane, metadata: {name: a}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerMachineTemplate, metadata: {name: a}}
---
{apiVersion: ipam.metal3.io/v1alpha1, kind: IPPool, metadata: {name: a}}
`
	s, err := newSample("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.GroupVersionKind{
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "DockerMachine"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "DockerMachineTemplate"},
		{Group: "ipam.metal3.io", Version: "v1alpha1", Kind: "IPPool"},
	}
	got := stubKinds([]*sample{s})
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	crd := stubCRD(want[1])
	if crd.Name != "dockermachinetemplates.infrastructure.cluster.x-k8s.io" || crd.Labels["cluster.x-k8s.io/v1beta2"] != "v1beta2" {
		t.Errorf("got %s with labels %v", crd.Name, crd.Labels)
	}
}

func TestMissingReferents(t *testing.T) {
	s, err := newSample("a.yaml", []byte(`
apiVersion: v1
kind: Secret
metadata: {name: known}
---
apiVersion: v1
kind: Other
metadata: {name: other}
spec: {authSecret: {name: not-ours}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: RKE2ControlPlane
metadata: {name: a}
spec:
  files:
  - contentFrom: {secret: {name: file, key: content}}
  - contentFrom: {configMap: {name: file, key: content}}
  privateRegistriesConfig:
    configs:
      example.org: {authSecret: {name: known}, tls: {tlsConfigSecret: {name: certificate}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range missingReferents(s) {
		got = append(got, o.GetName())
		if o.GetNamespace() != "a" {
			t.Errorf("%s is made in %q", o.GetName(), o.GetNamespace())
		}
	}
	if want := []string{"file", "file", "certificate"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
