package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const good = `# a comment
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: LabMachine
metadata: {name: b, namespace: ns}
`

func TestLoadReadsFilesFoldersAndStandardInput(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "1.yaml"), good)
	write(t, filepath.Join(dir, "2.yml"), "apiVersion: v1\nkind: Secret\nmetadata: {name: c}\n")
	write(t, filepath.Join(dir, "notes.txt"), "not a manifest")
	objects, err := Load([]string{dir, "-"}, strings.NewReader("apiVersion: v1\nkind: Pod\nmetadata: {name: d}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range objects {
		names = append(names, o.GetKind()+" "+o.GetName())
	}
	if diff := cmp.Diff([]string{"ConfigMap a", "LabMachine b", "Secret c", "Pod d"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ path, want string }{
		"missing fields": {write(t, filepath.Join(dir, "fields.yaml"), "spec: {}\n"), "document 1 has no apiVersion, kind, metadata.name"},
		"bad YAML":       {write(t, filepath.Join(dir, "yaml.yaml"), "a: [\n"), "document 1 is not valid YAML"},
		"a key twice":    {write(t, filepath.Join(dir, "twice.yaml"), "a: 1\na: 2\n"), "already set"},
		"no file":        {filepath.Join(dir, "none.yaml"), "no such file"},
		"empty folder":   {t.TempDir(), "holds no *.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Load([]string{test.path}, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestCheckNamesEveryUnknownKind(t *testing.T) {
	provider := t.TempDir()
	write(t, filepath.Join(provider, "crds", "thing.yaml"), `
spec:
  group: demo.example.com
  names: {kind: Thing}
  versions: [{name: v1, served: true}, {name: v0, served: false}]
`)
	kinds, err := KnownKinds(provider)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Load([]string{"-"}, strings.NewReader(good+`---
apiVersion: demo.example.com/v1
kind: Thing
metadata: {name: t1}
---
apiVersion: demo.example.com/v0
kind: Thing
metadata: {name: t0}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: k, namespace: ns}
`))
	if err != nil {
		t.Fatal(err)
	}
	err = kinds.Check(objects)
	if err == nil {
		t.Fatal("unknown kinds pass")
	}
	for _, want := range []string{
		"-: document 5 (Thing t0): the lab does not know the kind Thing of demo.example.com/v0; it knows it as demo.example.com/v1",
		"-: document 6 (KubeadmControlPlane ns/k): the lab does not know the kind KubeadmControlPlane of controlplane.cluster.x-k8s.io/v1beta2",
		"LabMachine.infrastructure.cluster.x-k8s.io",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	for _, fine := range []string{"(ConfigMap a)", "(LabMachine", "t1"} {
		if strings.Contains(err.Error(), fine) {
			t.Errorf("%q complains about %s", err, fine)
		}
	}
}

func TestExamplesAreKnown(t *testing.T) {
	objects, err := Load([]string{"../../manifests"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Drover's kinds stand where its CRDs are generated; Cluster API's are not in this repository.
	crds := t.TempDir()
	if err := os.Symlink(absolute(t, "../../../config/crd/bases"), filepath.Join(crds, "crds")); err != nil {
		t.Fatal(err)
	}
	kinds, err := KnownKinds(crds)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GroupVersionKind().Group == "cluster.x-k8s.io" {
			continue
		}
		if err := kinds.Check([]Object{o}); err != nil {
			t.Error(err)
		}
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
