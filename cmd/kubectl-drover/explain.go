package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/drover-project/drover/internal/explain"
)

// explaining is what the flags of explain say.
type explaining struct {
	access access
	output output
	watch  bool
}

func explainCommand() *cobra.Command {
	e := &explaining{}
	c := &cobra.Command{
		Use:   "explain CLUSTER",
		Short: "Tell in one screen what happens to a control plane and who holds it up",
		Long: `Tell in one screen what happens to a control plane: which step it is at, what is waited for and since when,
who or what blocks, what comes next and what can be done.

It reads with your own rights, makes the same snapshot as the manager and asks the same planner. It never writes. What
you may not read is left out, and the missing permission is named; what is waited for is then as the manager reported it.

` + exitCodes,
		Example: "  kubectl drover explain prod -n shop\n  kubectl drover explain prod --watch\n  kubectl drover explain prod -o json | jq -r .state",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.output.check(); err != nil {
				return err
			}
			s, err := e.access.open(args[0])
			if err != nil {
				return err
			}
			if e.watch {
				return e.follow(cmd.Context(), s, cmd.OutOrStdout())
			}
			return e.once(cmd.Context(), s, cmd.OutOrStdout())
		},
	}
	e.access.add(c.Flags())
	e.output.add(c.Flags())
	c.Flags().BoolVarP(&e.watch, "watch", "w", false, "go on looking, and print what has changed, until interrupted")
	return c
}

func (e *explaining) once(ctx context.Context, s *session, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	result, err := s.explain(ctx)
	if err != nil {
		return lacking(fmt.Errorf("explain: %w", err), s.denied.Denied())
	}
	if err := e.output.write(out, result); err != nil {
		return err
	}
	return outcome(result.State)
}

// outcome is the error that gives the exit code of a state.
func outcome(s explain.State) error {
	switch s {
	case explain.Settled:
		return nil
	case explain.InProgress:
		return errInProgress
	default:
		return errHeldUp
	}
}

// pause is the time between two looks of a watch.
const pause = 2 * time.Second

// follow prints what is new until the context ends. The outcome is that of the
// last look. On a terminal the screen is drawn anew; elsewhere only a change of
// more than ages is printed. A look that fails is said once, and tried again.
func (e *explaining) follow(ctx context.Context, s *session, out io.Writer) error {
	terminal := e.output.format == "" && isTerminal(out)
	var last error
	before := ""
	for {
		result, err := s.look(ctx)
		switch {
		case ctx.Err() != nil:
			return last
		case err != nil:
			last = lacking(fmt.Errorf("explain: %w", err), s.denied.Denied())
			if text := "Error: " + last.Error() + "\n"; text != before {
				before = text
				_, _ = io.WriteString(out, text)
			}
		default:
			last = outcome(result.State)
			if now := essence(result); terminal || now != before {
				before = now
				if err := e.draw(out, result, terminal); err != nil {
					return err
				}
			}
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(pause):
		}
	}
}

// look is one bounded look of a watch.
func (s *session) look(ctx context.Context) (explain.Explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return s.explain(ctx)
}

func (e *explaining) draw(out io.Writer, result explain.Explanation, terminal bool) error {
	if terminal {
		// Up to the left corner, and everything cleared.
		_, _ = io.WriteString(out, "\x1b[H\x1b[2J")
	}
	if err := e.output.write(out, result); err != nil {
		return err
	}
	if !terminal && e.output.format == "" {
		_, _ = io.WriteString(out, "\n")
	}
	return nil
}

// essence is what of an Explanation is news when it changes: neither its time,
// nor when something was looked at, nor how far a member is behind.
func essence(e explain.Explanation) string {
	e.Now = time.Time{}
	e.Waits, e.Troubled = slices.Clone(e.Waits), slices.Clone(e.Troubled)
	for i := range e.Waits {
		e.Waits[i].Blockers = slices.Clone(e.Waits[i].Blockers)
		for n := range e.Waits[i].Blockers {
			if b := &e.Waits[i].Blockers[n]; b.Kind != "Machine" && b.Kind != "Node" {
				b.Since = time.Time{}
			}
		}
	}
	for i := range e.Troubled {
		e.Troubled[i].Lag = 0
	}
	text, _ := json.Marshal(e)
	return string(text)
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
