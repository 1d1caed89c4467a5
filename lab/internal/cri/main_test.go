package cri

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The runtime starts its own program file as its shim.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Applet {
		os.Exit(Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == lookAround {
		os.Exit(look())
	}
	os.Exit(m.Run())
}

const (
	testIP  = "10.77.9.9"
	patient = 20 * time.Second
)

// client talks to a running runtime like the kubelet does.
type client struct {
	*WithT
	t   *testing.T
	ctx context.Context
	runtimeapi.RuntimeServiceClient
	images runtimeapi.ImageServiceClient
	dir    string
	// end stops the runtime and returns its error.
	end func() error
}

func serve(t *testing.T) *client { return serveImages(t, nil) }

func serveImages(t *testing.T, catalog Catalog) *client {
	g := NewWithT(t)
	c := &client{WithT: g, t: t, ctx: t.Context(), dir: t.TempDir()}
	socket := filepath.Join(c.dir, "cri.sock")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Options{Socket: socket, NodeIP: testIP, Images: catalog, Log: t.Output()}) }()
	var once bool
	c.end = func() error {
		if once {
			return nil
		}
		once = true
		cancel()
		return <-done
	}
	t.Cleanup(func() { g.Expect(c.end()).To(Succeed()) })

	g.Eventually(func() bool { return Answers(ctx, socket) }, patient).Should(BeTrue())
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conn.Close() })
	c.RuntimeServiceClient, c.images = runtimeapi.NewRuntimeServiceClient(conn), runtimeapi.NewImageServiceClient(conn)
	return c
}

func (c *client) sandbox(name string) (string, *runtimeapi.PodSandboxConfig) {
	c.t.Helper()
	config := &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name + "-uid"},
		Labels:       map[string]string{"io.kubernetes.pod.name": name},
		LogDirectory: filepath.Join(c.dir, "logs", name),
	}
	response, err := c.RunPodSandbox(c.ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	c.Expect(err).NotTo(HaveOccurred())
	return response.GetPodSandboxId(), config
}

// create makes a container in a sandbox of its own.
func (c *client) create(config *runtimeapi.ContainerConfig) string {
	c.t.Helper()
	sandbox, sandboxConfig := c.sandbox("pod")
	config.Metadata = &runtimeapi.ContainerMetadata{Name: "main"}
	if config.Image == nil {
		config.Image = &runtimeapi.ImageSpec{Image: "example.org/anything:1"}
	}
	config.LogPath = "main/0.log"
	response, err := c.CreateContainer(c.ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: sandbox, Config: config, SandboxConfig: sandboxConfig})
	c.Expect(err).NotTo(HaveOccurred())
	return response.GetContainerId()
}

// start makes a container that runs a shell script.
func (c *client) start(script string, mounts ...*runtimeapi.Mount) string {
	c.t.Helper()
	return c.startWith(nil, script, mounts...)
}

// startWith is start with more variables in the container's environment.
func (c *client) startWith(env map[string]string, script string, mounts ...*runtimeapi.Mount) string {
	c.t.Helper()
	config := &runtimeapi.ContainerConfig{
		Command: []string{"sh", "-c"}, Args: []string{script}, Mounts: mounts,
		Envs: []*runtimeapi.KeyValue{{Key: "COLOUR", Value: []byte("green")}},
	}
	for name, value := range env {
		config.Envs = append(config.Envs, &runtimeapi.KeyValue{Key: name, Value: []byte(value)})
	}
	id := c.create(config)
	_, err := c.StartContainer(c.ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
	c.Expect(err).NotTo(HaveOccurred())
	return id
}

func (c *client) status(id string) *runtimeapi.ContainerStatus {
	c.t.Helper()
	response, err := c.ContainerStatus(c.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	c.Expect(err).NotTo(HaveOccurred())
	return response.GetStatus()
}

// wait waits for the end of a container.
func (c *client) wait(id string) *runtimeapi.ContainerStatus {
	c.t.Helper()
	c.Eventually(func() runtimeapi.ContainerState { return c.status(id).GetState() }, patient, "10ms").
		Should(Equal(runtimeapi.ContainerState_CONTAINER_EXITED))
	return c.status(id)
}

// lines returns a container's log without the times.
func (c *client) lines(id string) []string {
	c.t.Helper()
	data, err := os.ReadFile(c.status(id).GetLogPath())
	c.Expect(err).NotTo(HaveOccurred())
	var lines []string
	for line := range bytes.Lines(data) {
		stamp, rest, found := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		c.Expect(found).To(BeTrue(), "%q", line)
		_, err := time.Parse(time.RFC3339Nano, stamp)
		c.Expect(err).NotTo(HaveOccurred())
		lines = append(lines, rest)
	}
	return lines
}

// waitForLine waits until a container has written a line to its standard output.
func (c *client) waitForLine(id, line string) {
	c.t.Helper()
	c.Eventually(func() []string { return c.lines(id) }, patient, "10ms").Should(ContainElement("stdout F " + line))
}
