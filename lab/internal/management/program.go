package management

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	firstBackOff   = 500 * time.Millisecond
	longestBackOff = 10 * time.Second
	// steady is how long a program must have run for its back-off to start anew.
	steady = 30 * time.Second
	// startAttempts is how often a program may end before it was ready once.
	startAttempts = 3
	// readyInterval is how often a starting program is asked whether it is ready.
	readyInterval = 100 * time.Millisecond
)

// program is a process that is started again whenever it ends.
type program struct {
	name    string
	argv    []string
	env     []string // in addition to the lab's own
	logFile string
	ends    chan error // one value per end, dropped when nobody listens
	start   func(*exec.Cmd) error
}

func newProgram(name, logFile string, env []string, argv ...string) *program {
	return &program{name: name, argv: argv, env: env, logFile: logFile, ends: make(chan error, 1), start: (*exec.Cmd).Start}
}

// keep runs the program until ctx ends.
func (p *program) keep(ctx context.Context) {
	backOff := firstBackOff
	for ctx.Err() == nil {
		started := time.Now()
		err := p.runOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > steady {
			backOff = firstBackOff
		}
		p.note(err, backOff)
		select {
		case p.ends <- err:
		default:
		}
		select {
		case <-ctx.Done():
		case <-time.After(backOff):
		}
		backOff = min(2*backOff, longestBackOff)
	}
}

func (p *program) runOnce(ctx context.Context) error {
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	// Its own group, so that a Ctrl-C in a terminal does not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.start(cmd); err != nil {
		return fmt.Errorf("start it: %w", err)
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.New("exit status 0")
}

// note writes the program's end into its own log, where one looks for it.
func (p *program) note(err error, backOff time.Duration) {
	log, openErr := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if openErr != nil {
		return
	}
	defer func() { _ = log.Close() }()
	_, _ = fmt.Fprintf(log, "lab: %s ended (%v) and is started again in %s\n", p.name, err, backOff)
}

// waitReady asks until the program is ready. It gives up early when the program
// keeps ending, and then shows the end of its log.
func (p *program) waitReady(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	last := errors.New("none")
	for attempts := 0; ; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s was not ready in time: %w (last answer: %w; see %s)", p.name, ctx.Err(), last, p.logFile)
		case err := <-p.ends:
			if attempts++; attempts == startAttempts {
				return fmt.Errorf("%s does not start: %w. The end of %s:\n%s", p.name, err, p.logFile, tail(p.logFile, 8))
			}
		case <-tick.C:
			if last = ready(ctx); last == nil {
				return nil
			}
		}
	}
}

// tail returns the last lines of a file, indented.
func tail(path string, lines int) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "  " + err.Error()
	}
	all := strings.Split(string(bytes.TrimSpace(data)), "\n")
	return "  " + strings.Join(all[max(0, len(all)-lines):], "\n  ")
}
