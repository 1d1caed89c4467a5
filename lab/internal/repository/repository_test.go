package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
)

// components is a part of what a release holds.
const components = `apiVersion: v1
kind: Namespace
metadata: {name: rke2-bootstrap-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: rke2-bootstrap-system}
spec:
  template:
    spec:
      containers:
      - name: manager
        image: ghcr.io/drover-project/drover:v1.2.3
`

func sources(t *testing.T) Sources {
	t.Helper()
	s := Sources{Core: filepath.Join(t.TempDir(), "v1.14.2"), Release: t.TempDir()}
	if err := os.Mkdir(s.Core, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		filepath.Join(s.Core, coreComponents):             "core",
		filepath.Join(s.Core, metadataFile):               "core metadata",
		filepath.Join(s.Release, bootstrapComponents):     components,
		filepath.Join(s.Release, controlPlaneComponents):  components,
		filepath.Join(s.Release, metadataFile):            "metadata",
		filepath.Join(s.Release, "cluster-template.yaml"): "template",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestLay(t *testing.T) {
	g := NewWithT(t)
	r, err := Lay(filepath.Join(t.TempDir(), "repository"), sources(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Drover).To(Equal("v1.2.3"))
	for _, path := range []string{
		"cluster-api/v1.14.2/core-components.yaml", "cluster-api/v1.14.2/metadata.yaml",
		"bootstrap-rke2/v1.2.3/bootstrap-components.yaml", "bootstrap-rke2/v1.2.3/metadata.yaml",
		"control-plane-rke2/v1.2.3/control-plane-components.yaml", "control-plane-rke2/v1.2.3/metadata.yaml",
		"infrastructure-lab/v1.0.0/infrastructure-components.yaml", "infrastructure-lab/v1.0.0/metadata.yaml",
	} {
		g.Expect(filepath.Join(r.Dir, path)).To(BeAnExistingFile())
	}
	g.Expect(r.Asset("cluster-template.yaml")).To(BeAnExistingFile())

	var urls []string
	for _, p := range r.Config().Providers {
		urls = append(urls, p.Name+" "+p.Type+" "+p.URL)
	}
	g.Expect(urls).To(ContainElement("rke2 ControlPlaneProvider file://" + r.Dir + "/control-plane-rke2/v1.2.3/control-plane-components.yaml"))
	g.Expect(urls).To(HaveLen(4))
}

func TestInfrastructureComponents(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(writeInfrastructure(dir)).To(Succeed())
	data, err := os.ReadFile(filepath.Join(dir, infrastructureComponents))
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := utilyaml.ToUnstructured(data)
	g.Expect(err).NotTo(HaveOccurred())
	kinds := map[string]int{}
	for _, o := range objects {
		kinds[o.GetKind()]++
		g.Expect(o.GetLabels()).To(HaveKeyWithValue("cluster.x-k8s.io/provider", "infrastructure-lab"), o.GetName())
	}
	g.Expect(kinds).To(Equal(map[string]int{"Namespace": 1, "CustomResourceDefinition": 4}))
}

func TestAddRelease(t *testing.T) {
	g := NewWithT(t)
	r, err := Lay(t.TempDir(), sources(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.AddRelease("v1.2.9")).To(Succeed())
	data, err := os.ReadFile(filepath.Join(r.Dir, "bootstrap-rke2", "v1.2.9", bootstrapComponents))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(data)).To(Equal(strings.ReplaceAll(components, "v1.2.3", "v1.2.9")))
}

func TestReleaseWithoutImage(t *testing.T) {
	g := NewWithT(t)
	s := sources(t)
	g.Expect(os.WriteFile(filepath.Join(s.Release, bootstrapComponents), []byte(strings.ReplaceAll(components, "drover:v1.2.3", "other:v1")), 0o600)).To(Succeed())
	_, err := Lay(t.TempDir(), s)
	g.Expect(err).To(MatchError(ContainSubstring("no container has an image ghcr.io/drover-project/drover:VERSION")))
}
