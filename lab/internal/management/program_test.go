package management

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// begin keeps a shell command running until the test ends.
func begin(t *testing.T, script string) (*program, string) {
	t.Helper()
	dir := t.TempDir()
	p := newProgram("sample", filepath.Join(dir, "sample.log"), []string{"PLACE=" + dir}, "/bin/sh", "-c", script)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.keep(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return p, dir
}

func exists(path string) func(context.Context) error {
	return func(context.Context) error {
		_, err := os.Stat(path)
		return err
	}
}

func TestProgramIsStartedAgain(t *testing.T) {
	g := NewWithT(t)
	p, dir := begin(t, `echo run >> $PLACE/runs; if [ $(wc -l < $PLACE/runs) -ge 2 ]; then touch $PLACE/ready; exec sleep 60; fi; exit 7`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	g.Expect(p.waitReady(ctx, exists(filepath.Join(dir, "ready")))).To(Succeed())
	log, err := os.ReadFile(p.logFile)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(log)).To(ContainSubstring("lab: sample ended (exit status 7) and is started again in 500ms"))
}

func TestProgramThatKeepsEndingIsGivenUp(t *testing.T) {
	p, _ := begin(t, `echo unknown flag --frobnicate; exit 2`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := p.waitReady(ctx, func(context.Context) error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "sample does not start") || !strings.Contains(err.Error(), "unknown flag --frobnicate") {
		t.Errorf("got %v", err)
	}
}

func TestProgramThatIsNeverReady(t *testing.T) {
	p, _ := begin(t, `exec sleep 60`)
	ctx, cancel := context.WithTimeout(t.Context(), 3*readyInterval)
	defer cancel()
	err := p.waitReady(ctx, func(context.Context) error { return errors.New("503") })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "503") {
		t.Errorf("got %v", err)
	}
}
