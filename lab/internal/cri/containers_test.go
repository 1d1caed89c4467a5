package cri

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestContainerRunsToItsEnd(t *testing.T) {
	for _, test := range []struct {
		name, script string
		code         int32
		reason       string
		lines        []string
	}{
		{"success", "echo out; echo $COLOUR", 0, "Completed", []string{"stdout F out", "stdout F green"}},
		{"failure", "echo err >&2; exit 7", 7, "Error", []string{"stderr F err"}},
		{"signal", "kill -9 $$", 137, "Error", nil},
		{"no line feed", "printf tail", 0, "Completed", []string{"stdout F tail"}},
		{"own surroundings", "pwd; echo [$LAB_TEST]", 0, "Completed", []string{"stdout F /", "stdout F []"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("LAB_TEST", "leaked")
			c := serve(t)
			id := c.start(test.script)
			got := c.wait(id)
			c.Expect(got.GetExitCode()).To(Equal(test.code))
			c.Expect(got.GetReason()).To(Equal(test.reason))
			c.Expect(got.GetFinishedAt()).To(BeNumerically(">=", got.GetStartedAt()))
			c.Expect(c.lines(id)).To(Equal(test.lines))
		})
	}
}

func TestContainerThatCannotStart(t *testing.T) {
	c := serve(t)
	for _, config := range []*runtimeapi.ContainerConfig{
		{Command: []string{"no-such-program"}},
		{Command: []string{"true"}, WorkingDir: "/no/such/folder"},
	} {
		id := c.create(config)
		_, err := c.StartContainer(c.ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
		c.Expect(err).To(MatchError(Or(ContainSubstring("no-such-program"), ContainSubstring("/no/such/folder"))))
		got := c.status(id)
		c.Expect(got.GetState()).To(Equal(runtimeapi.ContainerState_CONTAINER_EXITED))
		c.Expect(got.GetReason()).To(Equal("StartError"))
		c.Expect(got.GetMessage()).NotTo(BeEmpty())
	}
}

func TestStop(t *testing.T) {
	for _, test := range []struct {
		name, script string
		grace        int64
		code         int32
		line         string
	}{
		{"end of its own", `trap 'echo stopping; exit 3' TERM; echo up; while :; do sleep 1 & wait $!; done`, 30, 3, "stdout F stopping"},
		{"end by signal", `echo up; exec sleep 1000`, 30, 143, "stdout F up"},
		{"grace too short", `trap 'echo no' TERM; echo up; while :; do sleep 1 & wait $!; done`, 1, 137, "stdout F no"},
		{"no grace", `trap 'echo no' TERM; echo up; while :; do sleep 1 & wait $!; done`, 0, 137, "stdout F up"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := serve(t)
			id := c.start(test.script)
			c.waitForLine(id, "up")
			begin := time.Now()
			_, err := c.StopContainer(c.ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: test.grace})
			c.Expect(err).NotTo(HaveOccurred())
			took := time.Since(begin)
			got := c.status(id)
			c.Expect(got.GetState()).To(Equal(runtimeapi.ContainerState_CONTAINER_EXITED))
			c.Expect(got.GetExitCode()).To(Equal(test.code))
			c.Expect(c.lines(id)).To(ContainElement(test.line))
			if test.code == 137 {
				c.Expect(took).To(BeNumerically(">=", time.Duration(test.grace)*time.Second))
			} else {
				c.Expect(took).To(BeNumerically("<", time.Duration(test.grace)*time.Second))
			}
		})
	}
}

func TestContainerWithoutCommand(t *testing.T) {
	c := serve(t)
	id := c.create(&runtimeapi.ContainerConfig{})
	_, err := c.StartContainer(c.ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
	c.Expect(err).NotTo(HaveOccurred())
	// Its trap is set once it has a child.
	c.Eventually(func() int {
		grandchildren := 0
		for _, child := range children(os.Getpid()) {
			grandchildren += len(children(child))
		}
		return grandchildren
	}, patient, "10ms").Should(Equal(1))
	c.Expect(c.status(id).GetState()).To(Equal(runtimeapi.ContainerState_CONTAINER_RUNNING))
	_, err = c.StopContainer(c.ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 30})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(c.status(id).GetReason()).To(Equal("Completed"))
}

func children(pid int) []int {
	var pids []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		data, _ := os.ReadFile(file) // a thread may have ended
		for _, field := range strings.Fields(string(data)) {
			child, _ := strconv.Atoi(field)
			pids = append(pids, child)
		}
	}
	return pids
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// writtenPids returns the processes of a container that wrote their ids to its log.
func (c *client) writtenPids(id string) []int {
	c.t.Helper()
	var pids []int
	for _, line := range c.lines(id) {
		if text, ok := strings.CutPrefix(line, "stdout F pid "); ok {
			pid, err := strconv.Atoi(text)
			c.Expect(err).NotTo(HaveOccurred())
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone is true of a process that has ended, even when its parent has not taken notice.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// family is a script whose two processes ignore SIGTERM, and tell their ids.
const family = `trap '' TERM; sleep 1000 & echo pid $!; echo pid $$; echo up; while :; do sleep 1 & wait $!; done`

func TestNothingIsLeft(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(c *client, id string) error
	}{
		{"after the end of the main process", func(c *client, id string) error {
			return syscall.Kill(c.writtenPids(id)[1], syscall.SIGKILL)
		}},
		{"after stop", func(c *client, id string) error {
			_, err := c.StopContainer(c.ctx, &runtimeapi.StopContainerRequest{ContainerId: id})
			return err
		}},
		{"after the removal of the container", func(c *client, id string) error {
			_, err := c.RemoveContainer(c.ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
			return err
		}},
		{"after the end of the runtime", func(c *client, _ string) error { return c.end() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := serve(t)
			id := c.start(family)
			c.waitForLine(id, "up")
			pids := c.writtenPids(id)
			c.Expect(pids).To(HaveLen(2))
			c.Expect(test.end(c, id)).To(Succeed())
			for _, pid := range pids {
				c.Eventually(func() bool { return gone(pid) }, patient, "10ms").Should(BeTrue())
			}
		})
	}
}

func TestReopenLog(t *testing.T) {
	c := serve(t)
	id := c.start(`trap 'echo after; exit 0' TERM; echo before; while :; do sleep 1 & wait $!; done`)
	c.waitForLine(id, "before")
	path := c.status(id).GetLogPath()
	c.Expect(os.Rename(path, path+".old")).To(Succeed())
	_, err := c.ReopenContainerLog(c.ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: id})
	c.Expect(err).NotTo(HaveOccurred())
	_, err = c.StopContainer(c.ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 30})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(c.lines(id)).To(ContainElement("stdout F after"))
	c.Expect(read(t, path+".old")).NotTo(ContainSubstring("after"))
}

func TestListsAndRemoval(t *testing.T) {
	c := serve(t)
	id := c.start("exec sleep 1000")
	other, _ := c.sandbox("other")
	list := func(filter *runtimeapi.ContainerFilter) []*runtimeapi.Container {
		response, err := c.ListContainers(c.ctx, &runtimeapi.ListContainersRequest{Filter: filter})
		c.Expect(err).NotTo(HaveOccurred())
		return response.GetContainers()
	}
	running := &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING}
	exited := &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_EXITED}
	c.Expect(list(nil)).To(HaveLen(1))
	c.Expect(list(&runtimeapi.ContainerFilter{Id: id, State: running})).To(HaveLen(1))
	c.Expect(list(&runtimeapi.ContainerFilter{State: exited})).To(BeEmpty())
	c.Expect(list(&runtimeapi.ContainerFilter{PodSandboxId: other})).To(BeEmpty())
	c.Expect(list(&runtimeapi.ContainerFilter{LabelSelector: map[string]string{"a": "b"}})).To(BeEmpty())

	pods, err := c.ListPodSandbox(c.ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{
		LabelSelector: map[string]string{"io.kubernetes.pod.name": "pod"}}})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(pods.GetItems()).To(HaveLen(1))
	pod := pods.GetItems()[0].GetId()
	_, err = c.StopPodSandbox(c.ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(c.status(id).GetState()).To(Equal(runtimeapi.ContainerState_CONTAINER_EXITED))
	state, err := c.PodSandboxStatus(c.ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: pod})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(state.GetStatus().GetState()).To(Equal(runtimeapi.PodSandboxState_SANDBOX_NOTREADY))
	c.Expect(state.GetStatus().GetNetwork().GetIp()).To(Equal(testIP))

	_, err = c.RemovePodSandbox(c.ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(list(nil)).To(BeEmpty())
	_, err = c.ContainerStatus(c.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	c.Expect(status.Code(err)).To(Equal(codes.NotFound))
	_, err = c.RemoveContainer(c.ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
	c.Expect(err).NotTo(HaveOccurred(), "what is gone can be removed again")
}
