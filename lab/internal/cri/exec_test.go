package cri

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	clientexec "k8s.io/client-go/util/exec"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestExecSync(t *testing.T) {
	c := serve(t)
	id := c.start("exec sleep 1000")
	response, err := c.ExecSync(c.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"sh", "-c", "echo $COLOUR; echo err >&2; exit 5"}})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(string(response.GetStdout())).To(Equal("green\n"))
	c.Expect(string(response.GetStderr())).To(Equal("err\n"))
	c.Expect(response.GetExitCode()).To(Equal(int32(5)))

	_, err = c.ExecSync(c.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"sh", "-c", "sleep 1000 & wait"}, Timeout: 1})
	c.Expect(status.Code(err)).To(Equal(codes.DeadlineExceeded))
	_, err = c.ExecSync(c.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"no-such-program"}})
	c.Expect(err).To(MatchError(ContainSubstring("no-such-program")))

	_, err = c.StopContainer(c.ctx, &runtimeapi.StopContainerRequest{ContainerId: id})
	c.Expect(err).NotTo(HaveOccurred())
	_, err = c.ExecSync(c.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"true"}})
	c.Expect(err).To(MatchError(ContainSubstring("is not running")))
}

func TestExecEndsWithItsContainer(t *testing.T) {
	c := serve(t)
	id := c.start("echo up; exec sleep 1000")
	ended := make(chan error, 1)
	go func() {
		response, err := c.ExecSync(c.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"sh", "-c", "touch " + c.dir + "/in; sleep 1000"}})
		if err == nil && response.GetExitCode() != 137 {
			err = status.Errorf(codes.Unknown, "exit code %d", response.GetExitCode())
		}
		ended <- err
	}()
	c.Eventually(c.dir+"/in", patient).Should(BeAnExistingFile())
	_, err := c.StopContainer(c.ctx, &runtimeapi.StopContainerRequest{ContainerId: id})
	c.Expect(err).NotTo(HaveOccurred())
	c.Eventually(ended, patient).Should(Receive(BeNil()))
}

// stream runs a command over an address that the runtime gave out.
func (c *client) stream(address string, options remotecommand.StreamOptions) error {
	target, err := url.Parse(address)
	c.Expect(err).NotTo(HaveOccurred())
	executor, err := remotecommand.NewSPDYExecutor(&rest.Config{}, http.MethodPost, target)
	c.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(c.ctx, patient)
	defer cancel()
	return executor.StreamWithContext(ctx, options)
}

func TestExecStreams(t *testing.T) {
	c := serve(t)
	id := c.start("exec sleep 1000")
	response, err := c.Exec(c.ctx, &runtimeapi.ExecRequest{ContainerId: id, Cmd: []string{"sh", "-c", "cat; echo err >&2; exit 4"}, Stdin: true, Stdout: true, Stderr: true})
	c.Expect(err).NotTo(HaveOccurred())
	var stdout, stderr bytes.Buffer
	err = c.stream(response.GetUrl(), remotecommand.StreamOptions{Stdin: strings.NewReader("hello"), Stdout: &stdout, Stderr: &stderr})
	var exit clientexec.CodeExitError
	c.Expect(errors.As(err, &exit)).To(BeTrue(), "%v", err)
	c.Expect(exit.Code).To(Equal(4))
	c.Expect(stdout.String()).To(Equal("hello"))
	c.Expect(stderr.String()).To(Equal("err\n"))
}

func TestPortForward(t *testing.T) {
	c := serve(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	c.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	go answerOnce(listener)

	sandbox, _ := c.sandbox("pod")
	response, err := c.PortForward(c.ctx, &runtimeapi.PortForwardRequest{PodSandboxId: sandbox})
	c.Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(response.GetUrl())
	c.Expect(err).NotTo(HaveOccurred())
	transport, upgrader, err := spdy.RoundTripperFor(&rest.Config{})
	c.Expect(err).NotTo(HaveOccurred())
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	stop, ready := make(chan struct{}), make(chan struct{})
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	forwarder, err := portforward.New(dialer, []string{"0:" + port}, stop, ready, io.Discard, t.Output())
	c.Expect(err).NotTo(HaveOccurred())
	done := make(chan error, 1)
	go func() { done <- forwarder.ForwardPorts() }()
	c.Eventually(ready, patient).Should(BeClosed())

	ports, err := forwarder.GetPorts()
	c.Expect(err).NotTo(HaveOccurred())
	conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(int(ports[0].Local)))
	c.Expect(err).NotTo(HaveOccurred())
	_, err = conn.Write([]byte("question"))
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(conn.(*net.TCPConn).CloseWrite()).To(Succeed())
	answer, err := io.ReadAll(conn)
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(string(answer)).To(Equal("you said question"))
	close(stop)
	c.Eventually(done, patient).Should(Receive(BeNil()))
}

// answerOnce answers after the other side has said everything.
func answerOnce(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	said, _ := io.ReadAll(conn)
	_, _ = conn.Write(append([]byte("you said "), said...))
}

func TestSyncsCanBeSlow(t *testing.T) {
	c := serve(t)
	delay := c.dir + "/delay"
	id := c.startWith(map[string]string{SyncDelayFile: delay}, "exec sleep 1000")
	sync := func() time.Duration {
		began := time.Now()
		response, err := c.ExecSync(c.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{
			"dd", "if=/dev/zero", "of=" + c.dir + "/synced", "count=1", "conv=fdatasync",
		}})
		c.Expect(err).NotTo(HaveOccurred())
		c.Expect(response.GetExitCode()).To(BeZero(), string(response.GetStderr()))
		return time.Since(began)
	}
	c.Expect(sync()).To(BeNumerically("<", time.Second), "no delay is asked for")
	c.Expect(os.WriteFile(delay, []byte("1500ms\n"), 0o600)).To(Succeed())
	c.Expect(sync()).To(BeNumerically(">=", 1500*time.Millisecond))
	c.Expect(os.Remove(delay)).To(Succeed())
	c.Expect(sync()).To(BeNumerically("<", 1500*time.Millisecond))
}
