package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/drover-project/drover/internal/sim"
)

// The table stands between these marks.
const (
	tableBegin = "<!-- explored: begin -->\n"
	tableEnd   = "<!-- explored: end -->\n"
)

// runSet makes the explorations of the README.
func (s *simulation) runSet(ctx context.Context, out, progress io.Writer) error {
	var rows []string
	var broken []string
	for _, run := range sim.Runs() {
		_, _ = fmt.Fprintf(progress, "==> %s, %s\n", run.Name, run.Failures)
		r, err := s.runAll(ctx, run, progress)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", run.Name, run.Failures, err)
		}
		if r.Violation != nil {
			broken = append(broken, fmt.Sprintf("%s, %s: BROKEN %s", run.Name, run.Failures, r.Violation))
		}
		rows = append(rows, row(run, r))
	}
	table := header + strings.Join(rows, "")
	_, _ = fmt.Fprint(out, table)
	if len(broken) > 0 {
		_, _ = fmt.Fprintln(out, strings.Join(broken, "\n"))
		return errViolation
	}
	if s.write == "" {
		return nil
	}
	return writeTable(s.write, table)
}

// runAll makes all explorations of a row and adds them up. It ends with the first
// that finds something.
func (s *simulation) runAll(ctx context.Context, run sim.Run, progress io.Writer) (*sim.Result, error) {
	var sum sim.Result
	for _, o := range run.Explorations {
		o.MaxStates, o.Workers = s.options.MaxStates, s.options.Workers
		r, err := s.explore(ctx, o, progress)
		if err != nil {
			return nil, err
		}
		sum.Add(r)
		if r.Violation != nil {
			break
		}
	}
	return &sum, nil
}

const header = "| control plane | failures | states | transitions | time | states/s and core | bytes/state | verdict |\n" +
	"|---|---|---:|---:|---:|---:|---:|---|\n"

func row(run sim.Run, r *sim.Result) string {
	f := r.Figures
	verdict := "every promise holds"
	if r.Violation != nil {
		verdict = "**broken**"
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %s | %.0f | %d | %s |\n",
		run.Name, run.Failures, f.States, f.Transitions,
		f.Elapsed.Round(100*time.Millisecond), perCore(f), f.Bytes/max(f.Largest, 1), verdict)
}

// writeTable puts the table between the marks of a file.
func writeTable(path, table string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	before, rest, ok := strings.Cut(string(content), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return fmt.Errorf("write the table: %s does not hold the marks %q and %q", path, strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	return os.WriteFile(path, []byte(before+tableBegin+"\n"+table+"\n"+tableEnd+after), 0o644)
}
