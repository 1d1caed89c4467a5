package release

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"
)

// A release is laid out from the source alone: a copy of it in another folder,
// at another time, gives the same bytes.
func TestReleaseIsReproducible(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	for _, part := range []string{"config", "templates", "scripts"} {
		g.Expect(os.CopyFS(filepath.Join(folder, part), os.DirFS(filepath.Join(root, part)))).To(Succeed())
	}
	metadata, err := os.ReadFile(filepath.Join(root, "metadata.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(folder, "metadata.yaml"), metadata, 0o600)).To(Succeed())
	g.Expect(os.Mkdir(filepath.Join(folder, "bin"), 0o700)).To(Succeed())
	g.Expect(os.Symlink(filepath.Join(root, "bin", "kustomize"), filepath.Join(folder, "bin", "kustomize"))).To(Succeed())
	g.Expect(command(t.Context(), folder, "bash", "scripts/release.sh", version, filepath.Join(folder, "out"))).To(Succeed())

	first, second := contents(t, filepath.Join(dist, "release")), contents(t, filepath.Join(folder, "out", "release"))
	g.Expect(second).To(HaveLen(len(first)))
	for name, data := range first {
		g.Expect(bytes.Equal(second[name], data)).To(BeTrue(), name+" differs")
	}
	g.Expect(first).To(And(HaveLen(11), HaveKey("bootstrap-components.yaml"), HaveKey("control-plane-components.yaml"), HaveKey("metadata.yaml"),
		HaveKey("cluster-template.yaml"), HaveKey("cluster-template-lab.yaml"), HaveKey("cluster-template-vsphere.yaml"),
		HaveKey("cluster-template-metal3.yaml"), HaveKey("cluster-template-openstack.yaml"), HaveKey("cluster-template-aws.yaml"),
		HaveKey("cluster-template-topology.yaml"), HaveKey("clusterclass-rke2-example.yaml")))
}

func contents(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = data
	}
	return files
}

func TestVersionIsChecked(t *testing.T) {
	for _, bad := range []string{"1.2.3", "v1.2", "v1.2.3 ", "latest"} {
		if err := command(t.Context(), root, "bash", "scripts/release.sh", bad, t.TempDir()); err == nil {
			t.Errorf("the version %q was accepted", bad)
		}
	}
}

// clusterctl finds the series of the installed version and of ours.
func TestMetadata(t *testing.T) {
	g := NewWithT(t)
	metadata := &clusterctlv1.Metadata{}
	g.Expect(yaml.UnmarshalStrict(contents(t, filepath.Join(dist, "release"))["metadata.yaml"], metadata)).To(Succeed())
	g.Expect(metadata.APIVersion).To(Equal(clusterctlv1.GroupVersion.String()))
	contract := func(major, minor int32) string {
		for _, series := range metadata.ReleaseSeries {
			if series.Major == major && series.Minor == minor {
				return series.Contract
			}
		}
		return ""
	}
	g.Expect([]string{contract(0, 1), contract(0, 21), contract(0, 22), contract(0, 25), contract(1, 0)}).
		To(Equal([]string{"v1beta1", "v1beta1", "v1beta2", "v1beta2", "v1beta2"}))
}
