package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drover-project/drover/internal/sim"
	"github.com/drover-project/drover/internal/trace"
)

func replay() *cobra.Command {
	r := &replaying{}
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Follow a trace of decisions, and tell whether the model could have done the same",
		Long: `Follow a trace of decisions, and tell whether the model could have done the same.

The file is what the manager writes with --decision-trace (docs/decision-trace.md). Each decision is made again by this
version's planner, and each change between two observations must be one that the model of "kubectl drover simulate"
can make. Where it can't, the model does not know something that really happens: the exit code is 2.`,
		Example: "  kubectl drover replay drover-decisions.ndjson",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return r.run(args[0], cmd.OutOrStdout()) },
	}
	r.faults.add(c.Flags(), mostReplayed, "may have happened: ")
	return c
}

// mostReplayed is how often each fault may have happened in a trace.
const mostReplayed = 7

// replaying is what the flags of replay say.
type replaying struct{ faults faults }

// followed is how far one control plane has been followed.
type followed struct {
	name    string
	replay  *sim.Replay
	records int
	ended   string
}

func (r *replaying) run(path string, out io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer func() { _ = file.Close() }()
	budget, err := r.faults.budget(mostReplayed)
	if err != nil {
		return err
	}
	planes := map[string]*followed{}
	var order []*followed
	gaps := 0
	records := trace.NewReader(file)
	for {
		record, err := records.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, trace.ErrHalf) {
			_, _ = fmt.Fprintf(out, "line %d is passed over: it ends in the middle, as when a manager is killed\n", records.Line())
			continue
		}
		if err != nil {
			return fmt.Errorf("replay %s: %w", path, err)
		}
		plane := planes[record.UID]
		if plane == nil {
			plane = &followed{name: record.ControlPlane, replay: sim.NewReplay(budget, nil)}
			planes[record.UID] = plane
			order = append(order, plane)
		}
		if plane.ended != "" {
			continue
		}
		if !record.Outcome {
			plane.records++
		}
		if err := plane.next(record); err != nil {
			plane.ended = fmt.Sprintf("line %d: %v", records.Line(), err)
			if sim.IsGap(err) {
				gaps++
			}
		}
	}
	return summary(out, order, gaps)
}

func (f *followed) next(r trace.Record) error {
	state := r.Result.State
	mayDone, mayNot := state == trace.Done || state == trace.Failed || state == trace.Begun, state != trace.Done
	if r.Outcome {
		f.replay.Outcome(mayDone, mayNot)
		return nil
	}
	return f.replay.Next(r.Snapshot, r.Decision, mayDone, mayNot)
}

func summary(out io.Writer, planes []*followed, gaps int) error {
	slices.SortFunc(planes, func(a, b *followed) int { return strings.Compare(a.name, b.name) })
	unseen := 0
	for _, p := range planes {
		if p.ended == "" && p.replay.Followed() == 0 {
			unseen++
			_, _ = fmt.Fprintf(out, "%s: %d records, and nothing to follow: etcd was read in none of them\n", p.name, p.records)
			continue
		}
		if p.ended == "" {
			_, _ = fmt.Fprintf(out, "%s: %d records, and the model could have done all of it\n", p.name, p.records)
			continue
		}
		_, _ = fmt.Fprintf(out, "%s: followed for %d records, then %s\n", p.name, p.records, p.ended)
	}
	if len(planes) == 0 {
		_, _ = fmt.Fprintln(out, "the trace holds no records")
	}
	switch {
	case gaps > 0:
		return errViolation
	case unseen > 0:
		return fmt.Errorf("replay: %d of %d control planes could not be followed", unseen, len(planes))
	default:
		return nil
	}
}
