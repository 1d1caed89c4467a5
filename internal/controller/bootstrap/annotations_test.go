package bootstrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/render"
	"github.com/drover-project/drover/internal/version"
)

// TestWorkerAnnotatesItsNode runs that step of a worker's script, with a kubelet's rights, against an API server that
// restricts nodes as RKE2's does.
func TestWorkerAnnotatesItsNode(t *testing.T) {
	g := NewWithT(t)
	environment := &envtest.Environment{}
	environment.ControlPlane.GetAPIServer().Configure().
		Set("authorization-mode", "Node", "RBAC").Set("enable-admission-plugins", "NodeRestriction")
	config, err := environment.Start()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(environment.Stop()).To(Succeed()) })
	admin, err := client.New(config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Annotations: map[string]string{"own": "kept"}}}
	g.Expect(admin.Create(t.Context(), node)).To(Succeed())
	kubelet, err := environment.AddUser(envtest.User{Name: "system:node:worker-1", Groups: []string{"system:nodes"}}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := kubelet.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())

	dir := t.TempDir()
	for _, name := range []string{"agent", "bin"} {
		g.Expect(os.Mkdir(filepath.Join(dir, name), 0o755)).To(Succeed())
	}
	g.Expect(os.WriteFile(filepath.Join(dir, "agent", "kubelet.kubeconfig"), kubeconfig, 0o600)).To(Succeed())
	g.Expect(os.Symlink(environment.ControlPlane.KubectlPath, filepath.Join(dir, "bin", "kubectl"))).To(Succeed())

	annotations := map[string]string{"example.com/a": "it's \"x=y\" <&>\nsecond ü", "b": ""}
	output, err := exec.CommandContext(t.Context(), "/bin/sh", "-euc", annotateStep(g, dir, annotations)).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))

	annotations["own"] = "kept"
	g.Expect(admin.Get(t.Context(), client.ObjectKeyFromObject(node), node)).To(Succeed())
	g.Expect(node.Annotations).To(Equal(annotations))
}

// annotateStep returns the part of a worker's script that sets the annotations, without trying it again.
func annotateStep(g *WithT, dataDir string, annotations map[string]string) string {
	in := render.Input{
		Role: render.Worker, Version: version.Version{Major: 1, Minor: 36, Patch: 3, Release: 1}, Token: "s3cret", JoinAddress: "10.0.0.1",
	}
	in.Config.AgentConfig = bootstrapv1.RKE2AgentConfig{DataDir: dataDir, NodeAnnotations: annotations}
	out, err := render.Bootstrap(in)
	g.Expect(err).NotTo(HaveOccurred())
	var document struct {
		Files []struct{ Path, Content string } `json:"write_files"`
	}
	g.Expect(yaml.Unmarshal(out.Data, &document)).To(Succeed())
	for _, f := range document.Files {
		if f.Path != render.ScriptPath {
			continue
		}
		_, step, found := strings.Cut(f.Content, "bootstrap_step 'annotate the Node'\n")
		g.Expect(found).To(BeTrue(), f.Content)
		step, _, found = strings.Cut(step, "bootstrap_retry")
		g.Expect(found).To(BeTrue(), step)
		return step + "bootstrap_annotate\n"
	}
	g.Expect(document.Files).To(BeNil(), "there is no script")
	return ""
}
