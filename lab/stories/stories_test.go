// Package stories runs the laboratory's stories as tests, one subtest each, on the binaries that `make build` makes.
package stories

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drover-project/drover/lab/internal/story"
)

// binaries are what a story needs in bin/.
var binaries = []string{"lab", "kube", "capi-core", "clusterctl", "drover"}

// endTime is kept free before the test's deadline for the laboratory to be ended in order.
const endTime = 90 * time.Second

func TestStories(t *testing.T) {
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range binaries {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			t.Fatalf("bin/%s is missing: run make build first", name)
		}
	}
	for _, s := range story.All() {
		t.Run(s.Name, func(t *testing.T) {
			if s.OnRequest && os.Getenv("STORIES") != "all" {
				t.Skip("plays on request: make stories STORIES=all")
			}
			if !s.Alone {
				t.Parallel()
			}
			run(t, filepath.Join(bin, "lab"), "story", "run", s.Name)
		})
	}
}

// run plays a story, or whatever the arguments ask for, in a process of its own, as a user would, and passes its lines
// on while they come.
func run(t *testing.T, lab string, args ...string) {
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-endTime))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, lab, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			t.Log(lines.Text())
		}
	}()
	err := cmd.Run()
	_ = write.Close()
	<-logged
	if err != nil {
		t.Errorf("lab %s: %v", strings.Join(args, " "), err)
	}
}
