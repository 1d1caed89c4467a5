// Package stories runs the laboratory's stories as tests, one subtest each, on the binaries that `make build` makes.
package stories

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/drover-project/drover/lab/internal/story"
)

// binaries are what a story needs in bin/.
var binaries = []string{"lab", "kube", "capi-core", "clusterctl", "drover", "kubectl-drover"}

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
	stories, err := chosen(os.Getenv("STORIES"))
	if err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(t.TempDir(), "results")
	t.Cleanup(func() { printTable(t, results) })
	queue := newQueue(t, "STORIES_AT_ONCE")
	// Those that run alone do so here, one after the other; the rest waits for the queue to be opened.
	for _, s := range stories {
		t.Run(s.Name, func(t *testing.T) {
			if !s.Alone {
				queue.wait(t)
			}
			run(t, filepath.Join(bin, "lab"), "story", "run", "--results", results, s.Name)
		})
	}
	if os.Getenv("STORIES") == "" || os.Getenv("STORIES") == shortSelection {
		t.Run("samples", func(t *testing.T) { playSamples(t, queue) })
	}
	queue.open()
}

// shortSelection is the value of STORIES that selects the stories of `make test`.
const shortSelection = "short"

// chosen returns the stories that the variable asks for: all when it is empty, the short ones, or those it names.
func chosen(names string) ([]story.Story, error) {
	stories := story.All()
	switch names {
	case "":
	case shortSelection:
		stories = slices.DeleteFunc(stories, func(s story.Story) bool { return !s.Short })
	default:
		var err error
		if stories, err = story.Find(strings.Fields(names)...); err != nil {
			return nil, err
		}
	}
	return stories, nil
}

// printTable ends the run with one row for each story, in the order in which they ended.
func printTable(t *testing.T, file string) {
	results, err := story.ReadResults(file)
	if err != nil {
		t.Error(err)
	}
	if len(results) == 0 {
		return
	}
	fmt.Println()
	if err := story.Table(os.Stdout, results); err != nil {
		t.Error(err)
	}
}

// queue lets tests run side by side, so many at a time, in the order in which they came: go test by itself takes them in
// any order, and a long one that comes last is waited for.
type queue struct {
	room  int
	turns []chan struct{}
	ended chan struct{}
}

// memoryEach is what a laboratory takes at its peak, in bytes; 3.6 GiB were seen.
const memoryEach = 4 << 30

// watchesEach are the inotify instances of a laboratory at its peak: 11 to 16 for each server. Linux lets a user have 128
// of them unless told otherwise, and whoever gets none does not notice what changes: a kubelet its static pods, a machine
// the word of its bootstrap.
const watchesEach = 60

// watchesFile holds how many inotify instances a user may have.
const watchesFile = "/proc/sys/fs/inotify/max_user_instances"

// roomHere is how many laboratories this computer has room for. Each keeps a processor busy most of the time; with more,
// the probes starve.
func roomHere() int {
	room := runtime.NumCPU()
	if text, err := os.ReadFile(watchesFile); err == nil {
		if most, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			room = min(room, most/watchesEach)
		}
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		room = min(room, int(info.Totalram*uint64(info.Unit)/memoryEach))
	}
	return max(room, 1)
}

// newQueue reads from the environment how many may run at a time.
func newQueue(t *testing.T, variable string) *queue {
	t.Helper()
	room := roomHere()
	if text := os.Getenv(variable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%s is no number of stories", variable, text)
		}
		room = n
	}
	return &queue{room: room, ended: make(chan struct{}, 100)}
}

// wait returns when it is the test's turn.
func (q *queue) wait(t *testing.T) {
	t.Helper()
	turn := make(chan struct{})
	q.turns = append(q.turns, turn)
	t.Cleanup(func() { q.ended <- struct{}{} })
	t.Parallel()
	<-turn
}

// open lets the first ones go, and each of the others when one has ended. Call it when all wait.
func (q *queue) open() {
	for range q.room {
		q.ended <- struct{}{}
	}
	go func() {
		for _, turn := range q.turns {
			<-q.ended
			close(turn)
		}
	}()
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
