package story

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/probe"
	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	// pollPeriod is how often a story looks whether what it waits for has come.
	pollPeriod = 500 * time.Millisecond
	// nagPeriod is how often it says that it is still waiting.
	nagPeriod = 15 * time.Second
)

// Run is one play of one story: what it may use, and what came out of it.
type Run struct {
	Lab        Lab
	Management client.WithWatch
	Log        *timeline.Log
	// Page collects what the HTML page of the run shows; stories that draw one fill Title and Chart.
	Page timeline.Page

	// memory meters everything of the laboratory and of the story; nil before the laboratory runs.
	memory *probe.Memory
	// result is what becomes of the run in one line of a table.
	result Result

	start     time.Time
	dir       string // the run folder of its laboratory
	out       io.Writer
	following sync.Once

	mu       sync.Mutex
	findings []timeline.Finding
	figures  []timeline.Figure
}

// Step says what the story does now.
func (r *Run) Step(format string, args ...any) {
	r.say(fmt.Sprintf(format, args...))
}

// Note is a Step that is also put on the timeline.
func (r *Run) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.Log.Append(timeline.Event{Kind: timeline.Note, Detail: text})
	r.say(text)
}

func (r *Run) say(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed := time.Since(r.start)
	_, _ = fmt.Fprintf(r.out, "[%02d:%02d] %s\n", int(elapsed.Minutes()), int(elapsed.Seconds())%60, text)
}

// Check records one promise with the value that was measured.
func (r *Run) Check(subject, rule string, ok bool, measured string, args ...any) {
	r.Add(timeline.Finding{Subject: subject, Rule: rule, OK: ok, Measured: fmt.Sprintf(measured, args...)})
}

// Add records findings that were made elsewhere.
func (r *Run) Add(findings ...timeline.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findings = append(r.findings, findings...)
}

// Figure records a measured value with its bound; beyond the bound the story fails.
func (r *Run) Figure(figures ...timeline.Figure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.figures = append(r.figures, figures...)
}

// script runs a shell script inside a machine.
func (r *Run) script(ctx context.Context, machine, script string) error {
	out, code, err := r.Lab.Exec(ctx, machine, "/bin/sh", "-c", script)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, oneLine(out))
	}
	if err != nil {
		return fmt.Errorf("script in machine %s: %w", machine, err)
	}
	return nil
}

// WaitFor looks until look says done, or the time is over. look also says in words how far it is; an error of look is
// such a word, since whatever is asked may be on its way up or down.
func (r *Run) WaitFor(ctx context.Context, what string, limit time.Duration, look func(context.Context) (done bool, state string, err error)) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	nag := time.NewTicker(nagPeriod)
	defer nag.Stop()
	for {
		lookCtx, done := context.WithTimeout(ctx, 10*time.Second)
		ok, state, err := look(lookCtx)
		done()
		if err == nil && ok {
			return nil
		}
		if err != nil {
			state = err.Error()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s: %s: %w", time.Since(began).Round(time.Second), what, state, ctx.Err())
		case <-nag.C:
			r.Step("waiting for %s since %s: %s", what, time.Since(began).Round(time.Second), oneLine(state))
		case <-tick.C:
		}
	}
}
