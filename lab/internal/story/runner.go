package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/probe"
	"github.com/drover-project/drover/lab/internal/timeline"
)

// downTimeout bounds the end of a laboratory, which must also come after an interrupt.
const downTimeout = 60 * time.Second

// Options says where stories run and what becomes of their results.
type Options struct {
	Start StartFunc
	Out   io.Writer
	// HTML is where the timeline page is written; empty means nowhere.
	HTML string
	// Results is a file to which the outcome of each story is appended as a line of JSON (Result); empty means none.
	Results string
	// Tables prints the timeline as a table at the end.
	Tables bool
}

// ErrFailed means that a story ran and did not keep a promise.
var ErrFailed = errors.New("story failed")

// Play runs stories one after the other, each in its own laboratory, and returns ErrFailed when one of them failed.
func Play(ctx context.Context, stories []Story, o Options) error {
	var failed []string
	for _, s := range stories {
		if err := playOne(ctx, s, o); err != nil {
			failed = append(failed, s.Name)
			if ctx.Err() != nil {
				return fmt.Errorf("story %s: %w", s.Name, ctx.Err())
			}
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%w: %v", ErrFailed, failed)
	}
	return nil
}

func playOne(ctx context.Context, s Story, o Options) (err error) {
	_, _ = fmt.Fprintf(o.Out, "=== %s: %s\n", s.Name, s.Purpose)
	dir, err := os.MkdirTemp("", "lab-"+s.Name+"-")
	if err != nil {
		return fmt.Errorf("story %s: %w", s.Name, err)
	}
	r := &Run{Log: &timeline.Log{}, start: time.Now(), dir: dir, out: o.Out}
	r.Page.Subtitle = s.Purpose
	err = r.inLab(ctx, dir, o.Start, s)
	r.followTraces(ctx)
	ok := r.report(err, s, o)
	err = errors.Join(err, r.writeResult(s, ok, o.Results))
	if ok || ctx.Err() != nil {
		// An interrupted run has nothing to show; it leaves nothing behind.
		return errors.Join(err, os.RemoveAll(dir))
	}
	logs, keepErr := r.keepLogs(dir)
	_, _ = fmt.Fprintf(o.Out, "logs kept in %s\n", logs)
	return errors.Join(ErrFailed, err, keepErr)
}

// inLab starts a laboratory, plays, and ends the laboratory whatever happened.
func (r *Run) inLab(ctx context.Context, dir string, start StartFunc, s Story) (err error) {
	r.Step("starting a laboratory in %s", dir)
	r.Lab, err = start(ctx, dir, s.setup, r.say)
	if err != nil {
		return fmt.Errorf("start laboratory: %w", err)
	}
	defer func() {
		r.Step("ending the laboratory")
		endCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
		defer cancel()
		if downErr := r.Lab.Down(endCtx); downErr != nil {
			err = errors.Join(err, fmt.Errorf("end laboratory: %w", downErr))
		}
	}()
	memoryCtx, stopMemory := context.WithCancel(ctx)
	defer stopMemory()
	r.memory = probe.MeterMemory(memoryCtx, func() []int { return []int{r.Lab.PID(), os.Getpid()} })
	config := r.Lab.Management()
	// What the API server remarks on manifests is no part of a story.
	config.WarningHandlerWithContext = rest.NoWarnings{}
	r.Management, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("management client: %w", err)
	}
	playCtx, stop := context.WithCancel(ctx)
	defer stop()
	return s.play(playCtx, r)
}

// report prints the outcome and writes the page, and tells whether everything was as promised.
func (r *Run) report(err error, s Story, o Options) bool {
	if o.Tables && len(r.Page.Chart.Rows) > 0 {
		_, _ = fmt.Fprintln(o.Out)
		_ = timeline.Text(o.Out, r.Page.Chart)
	}
	_, _ = fmt.Fprintln(o.Out)
	_ = timeline.FindingsText(o.Out, r.findings)
	_ = timeline.FiguresText(o.Out, r.figures)
	ok := err == nil && len(timeline.Violations(r.findings)) == 0
	for _, f := range r.figures {
		ok = ok && f.OK
	}
	if err == nil && len(r.findings)+len(r.figures) == 0 {
		ok = false
		_, _ = fmt.Fprintln(o.Out, "FAIL  the story checked nothing")
	}
	if err != nil {
		_, _ = fmt.Fprintf(o.Out, "FAIL  %v\n", err)
	}
	if pageErr := r.writePage(o.HTML); pageErr != nil {
		_, _ = fmt.Fprintf(o.Out, "FAIL  %v\n", pageErr)
		ok = false
	}
	verdict := "PASS"
	if !ok {
		verdict = "FAIL"
	}
	_, _ = fmt.Fprintf(o.Out, "--- %s: %s (%s)\n", verdict, s.Name, time.Since(r.start).Round(time.Second))
	return ok
}

func (r *Run) writePage(path string) (err error) {
	if path == "" || len(r.Page.Chart.Rows) == 0 {
		return nil
	}
	r.Page.Figures, r.Page.Findings, r.Page.Events = r.figures, r.findings, r.Log.Events()
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write timeline page: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := timeline.HTML(f, r.Page); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(r.out, "timeline written to %s\n", path)
	return nil
}

// keepLogs leaves only the logs of a run folder, with the event log added, and returns their folder.
func (r *Run) keepLogs(dir string) (string, error) {
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return logs, fmt.Errorf("keep logs: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return logs, fmt.Errorf("keep logs: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if e.Name() != "logs" {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	f, err := os.Create(filepath.Join(logs, "events.jsonl"))
	if err != nil {
		return logs, fmt.Errorf("keep logs: %w", err)
	}
	return logs, errors.Join(append(errs, r.Log.WriteJSON(f), f.Close())...)
}
