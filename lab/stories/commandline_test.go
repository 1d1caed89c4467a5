package stories

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// commandTimeout bounds one command of the lab.
const commandTimeout = 3 * time.Minute

// commandLine runs the lab's own commands in one folder, as a user would.
type commandLine struct {
	t   *testing.T
	dir string
}

// lab returns what the command printed, and its exit code.
func (c commandLine) lab(args ...string) (output string, code int) {
	c.t.Helper()
	bin, err := filepath.Abs("../../bin/lab")
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = c.dir
	printed, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		c.t.Fatalf("run lab (`make build` makes it): %v", err)
	}
	return string(printed), cmd.ProcessState.ExitCode()
}

func (c commandLine) exists(name string) bool {
	_, err := os.Stat(filepath.Join(c.dir, name))
	return err == nil
}

// first returns the id of the first process of the lab.
func (c commandLine) first() int {
	c.t.Helper()
	var state struct{ Process struct{ PID int } }
	data, err := os.ReadFile(filepath.Join(c.dir, ".lab", "state.json"))
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return state.Process.PID
}

func TestCommandLine(t *testing.T) {
	g := NewWithT(t)
	c := commandLine{t: t, dir: t.TempDir()}
	t.Cleanup(func() { c.lab("down") })
	manifest := filepath.Join(c.dir, "unknown.yaml")
	g.Expect(os.WriteFile(manifest, []byte("apiVersion: example.com/v1\nkind: Castle\nmetadata: {name: elsinore}\n"), 0o600)).To(Succeed())

	output, code := c.lab("up", "--provider", "none", "-f", "unknown.yaml")
	g.Expect(code).To(Equal(1))
	g.Expect(output).To(ContainSubstring("unknown.yaml: document 1 (Castle elsinore): the lab does not know the kind Castle of example.com/v1"))
	g.Expect(c.exists(".lab")).To(BeFalse(), "nothing was started")

	output, code = c.lab("up", "--provider", "none")
	g.Expect(code).To(BeZero(), output)
	output, code = c.lab("up", "--provider", "none")
	g.Expect(code).To(Equal(1))
	g.Expect(output).To(ContainSubstring("a lab is already running"))
	output, code = c.lab("kubectl", "get", "crd", "labmachines.infrastructure.cluster.x-k8s.io", "-o", "name")
	g.Expect(code).To(BeZero(), output)
	_, code = c.lab("kubectl", "auth", "can-i", "--as=nobody", "delete", "nodes")
	g.Expect(code).To(Equal(1), "kubectl's exit code is the lab's")

	// The lab dies a sudden death; the next one starts all the same.
	g.Expect(syscall.Kill(c.first(), syscall.SIGKILL)).To(Succeed())
	g.Eventually(func() int { _, code := c.lab("status"); return code }, 20*time.Second).Should(Equal(1))
	g.Eventually(func() string { output, _ := c.lab("up", "--provider", "none"); return output }, time.Minute).
		Should(And(ContainSubstring("removed what an earlier lab had left"), ContainSubstring("ready")))

	output, code = c.lab("down")
	g.Expect(code).To(BeZero(), output)
	g.Expect(c.exists(".lab")).To(BeFalse())
	entries, err := os.ReadDir(c.dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(HaveLen(1), "only the manifest is left")
}

func TestInterruptedStartLeavesNothing(t *testing.T) {
	g := NewWithT(t)
	c := commandLine{t: t, dir: t.TempDir()}
	bin, err := filepath.Abs("../../bin/lab")
	g.Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(t.Context(), bin, "up", "--provider", "none")
	cmd.Dir = c.dir
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	g.Expect(cmd.Start()).To(Succeed())
	g.Eventually(func() bool { return c.exists(".lab/control.sock") }, time.Minute, 20*time.Millisecond).Should(BeTrue())
	first := c.first()
	g.Expect(cmd.Process.Signal(syscall.SIGINT)).To(Succeed())
	g.Expect(cmd.Wait()).NotTo(Succeed())
	g.Expect(output.String()).To(ContainSubstring("was interrupted"))
	g.Expect(syscall.Kill(first, 0)).To(MatchError(syscall.ESRCH), "the sandbox is gone")
	g.Expect(c.exists(".lab/control.sock")).To(BeFalse())
}
