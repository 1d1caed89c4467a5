package cri

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// lookAround is an argument with which this test's own program tells what it sees.
const lookAround = "look-around"

// look prints who runs it, what is in its root folder, and what it may write.
func look() int {
	fmt.Println("user", os.Getuid(), "group", os.Getgid())
	entries, err := os.ReadDir("/")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, e := range entries {
		fmt.Println("entry", e.Name())
	}
	for _, path := range []string{"/new", "/tmp/new", "/data/new"} {
		fmt.Println("writes", path, os.WriteFile(path, []byte("x"), 0o600) == nil)
	}
	content, err := os.ReadFile("/tmp/certificates/tls.crt")
	fmt.Println("reads", string(content), err)
	return 0
}

func TestRepository(t *testing.T) {
	for name, want := range map[string]string{
		"registry:5000/a/b":              "registry:5000/a/b",
		"registry:5000/a/b:v1":           "registry:5000/a/b",
		"ghcr.io/a/b:v1@sha256:0123abcd": "ghcr.io/a/b",
		"b":                              "b",
	} {
		if got := repository(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestCommandOfAnImage(t *testing.T) {
	g := NewWithT(t)
	image := &Image{Entrypoint: []string{"/manager"}}
	g.Expect(commandOf(&runtimeapi.ContainerConfig{Args: []string{"-v"}}, image)).To(Equal([]string{"/manager", "-v"}))
	g.Expect(commandOf(&runtimeapi.ContainerConfig{Command: []string{"/other"}}, image)).To(Equal([]string{"/other"}))
	g.Expect(commandOf(&runtimeapi.ContainerConfig{}, nil)).To(Equal(sleeper))
}

func TestUnknownImage(t *testing.T) {
	c := serveImages(t, Catalog{"example.org/known": {}})
	_, err := c.images.PullImage(c.ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "example.org/other:v1"}})
	c.Expect(status.Code(err)).To(Equal(codes.NotFound))
	c.Expect(err).To(MatchError(ContainSubstring("no image example.org/other:v1; it has example.org/known")))
	_, err = c.images.PullImage(c.ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "example.org/known:v7"}})
	c.Expect(err).NotTo(HaveOccurred())
}

func TestContainerOfAnImage(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount; machines of a lab run as root of their user namespace")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const name = "example.org/looker"
	c := serveImages(t, Catalog{name: {Files: map[string]string{"/manager": self}, Entrypoint: []string{"/manager"}}})
	data, certificates := t.TempDir(), t.TempDir()
	c.Expect(os.Chmod(data, 0o777)).To(Succeed())
	c.Expect(os.WriteFile(filepath.Join(certificates, "tls.crt"), []byte("CERT"), 0o644)).To(Succeed())
	id := c.create(&runtimeapi.ContainerConfig{
		Image: &runtimeapi.ImageSpec{Image: name + ":v1"}, Args: []string{lookAround},
		Mounts: []*runtimeapi.Mount{
			// The inner one first: it must be found all the same.
			{HostPath: certificates, ContainerPath: "/tmp/certificates", Readonly: true},
			{HostPath: data, ContainerPath: "/data"},
		},
		Linux: &runtimeapi.LinuxContainerConfig{SecurityContext: &runtimeapi.LinuxContainerSecurityContext{
			RunAsUser: &runtimeapi.Int64Value{Value: 4711}, RunAsGroup: &runtimeapi.Int64Value{Value: 4712}, ReadonlyRootfs: true, NoNewPrivs: true,
		}},
	})
	_, err = c.StartContainer(c.ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(c.wait(id).GetExitCode()).To(BeZero())
	c.Expect(c.lines(id)).To(Equal([]string{
		"stdout F user 4711 group 4712",
		"stdout F entry data", "stdout F entry dev", "stdout F entry etc", "stdout F entry manager", "stdout F entry proc", "stdout F entry tmp",
		"stdout F writes /new false", "stdout F writes /tmp/new false", "stdout F writes /data/new true",
		"stdout F reads CERT <nil>",
	}))
	c.Expect(filepath.Join(data, "new")).To(BeAnExistingFile())
}
