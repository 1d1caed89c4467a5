package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
	"github.com/drover-project/drover/internal/sim"
)

// simulation is what the flags of simulate say.
type simulation struct {
	options     sim.Options
	faults      faults
	withoutRule string
	save        string
	set         bool
	write       string
	quiet       bool
}

func simulate() *cobra.Command {
	s := &simulation{}
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Walk every state that a control plane can get into, and check what Drover promises in each",
		Long: `Walk every state that a control plane can get into, and check what Drover promises in each.

The planner is the one of the product; what surrounds it is a model: Cluster API's core, hosts, kubelets, RKE2, etcd,
users and failures, each of which happens at any time or not at all. A promise that does not hold is printed as a
story that breaks it, one with the fewest failures, and the exit code is 2. See docs/safety.md for the promises and for what the model
leaves out.`,
		Example: `  kubectl drover simulate --servers 3 --surge 1 --deaths 1 --user-deletes 1
  kubectl drover simulate --servers 3 --surge 0 --deaths 1 --without-rule dead_member_goes_first`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.IntVar(&s.options.Servers, "servers", 3, "wished number of servers, 1 to 7")
	f.IntVar(&s.options.Surge, "surge", 1, "maxSurge, 0 or 1; 0 needs 3 servers")
	s.faults.add(f, 0, "")
	f.BoolVar(&s.options.Stale, "stale", false, "let the controller decide on what was one step ago, source by source")
	f.BoolVar(&s.options.Restarts, "restarts", false, "let the controller restart at any time and forget what it remembers")
	f.BoolVar(&s.options.Blackouts, "blackouts", false, "let etcd and the workload API be unreadable at any time")
	f.BoolVar(&s.options.DeathInWindow, "deaths-in-removal", false, "let servers fail also while RKE2 removes a member it was asked to remove (docs/safety.md)")
	f.BoolVar(&s.options.Whole, "whole", false, "walk also the states for which another one stands (docs/safety.md), 20 to 50 times as many")
	f.BoolVar(&s.options.Direct, "client-ports", false, "let the controller reach the members' client ports, so that it needs no kubelet to ask them")
	f.BoolVar(&s.options.External, "external-datastore", false, "keep the data in a datastore outside, so that servers run no etcd")
	f.BoolVar(&s.options.Hidden, "hidden-etcd", false, "let the servers run an etcd that can't be asked (docs/operate/external-datastore.md)")
	f.BoolVar(&s.options.Empty, "empty", false, "begin before the first server instead of with an upgrade")
	f.IntVar(&s.options.MaxStates, "limit", 0, "give up after this many states, 0 for never")
	f.IntVar(&s.options.Workers, "workers", 0, "goroutines, 0 for one on each core")
	f.StringVar(&s.withoutRule, "without-rule", "", "leave out the rule of that name, to see what it is for")
	f.StringVar(&s.save, "save", "", "write the story of a broken promise to this file, too")
	f.BoolVar(&s.set, "set", false, "make the explorations that the README shows, and print their table")
	f.StringVar(&s.write, "write", "", "with --set, write the table into this file, between its two marks")
	f.BoolVarP(&s.quiet, "quiet", "q", false, "print no progress")
	return c
}

func (s *simulation) run(ctx context.Context, out, progress io.Writer) error {
	if s.set {
		return s.runSet(ctx, out, progress)
	}
	if err := s.check(); err != nil {
		return err
	}
	r, err := s.explore(ctx, s.options, progress)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, figures(r.Figures))
	if r.Violation == nil {
		_, _ = fmt.Fprintln(out, "Every promise holds in every state, and the goal can be reached from each.")
		return nil
	}
	_, _ = fmt.Fprintf(out, "\nBROKEN %s", r.Violation)
	if s.save != "" {
		if err := os.WriteFile(s.save, []byte(r.Violation.String()), 0o644); err != nil {
			return fmt.Errorf("save the story: %w", err)
		}
	}
	return errViolation
}

// check names what can't be simulated.
func (s *simulation) check() error {
	o := &s.options
	switch {
	case o.Servers < 1 || o.Servers > 7:
		return fmt.Errorf("--servers %d: choose 1 to 7", o.Servers)
	case o.Surge != 0 && o.Surge != 1:
		return fmt.Errorf("--surge %d: choose 0 or 1", o.Surge)
	case o.Surge == 0 && o.Servers < 3:
		return fmt.Errorf("--surge 0 with --servers %d: Drover refuses that, since a rollout would lose the quorum; choose --surge 1 or at least 3 servers", o.Servers)
	}
	if o.External && o.Hidden {
		return errors.New("--external-datastore and --hidden-etcd: choose one")
	}
	var err error
	if o.Budget, err = s.faults.budget(sim.MostOfAFault); err != nil {
		return err
	}
	if s.withoutRule == "" {
		return nil
	}
	rules := plan.Rules()
	at := slices.IndexFunc(rules, func(r plan.Rule) bool { return r.Name == s.withoutRule })
	if at < 0 {
		var names []string
		for _, r := range rules {
			names = append(names, r.Name)
		}
		return fmt.Errorf("--without-rule %s: no rule has that name; there are %s", s.withoutRule, strings.Join(names, ", "))
	}
	rest := slices.Delete(rules, at, at+1)
	o.Decide = func(snapshot model.Snapshot) model.Decision { return plan.DecideWith(rest, snapshot) }
	return nil
}

// every is how often progress is printed.
const every = 5 * time.Second

// explore is sim.Explore with a clock and lines of progress.
func (s *simulation) explore(ctx context.Context, o sim.Options, progress io.Writer) (*sim.Result, error) {
	o.Now = time.Now
	last := time.Now()
	o.Watch = func(f sim.Figures) bool {
		if !s.quiet && time.Since(last) >= every {
			last = time.Now()
			_, _ = fmt.Fprintf(progress, "  ... %s\n", figures(f))
		}
		return ctx.Err() == nil
	}
	return sim.Explore(o)
}

// figures words what an exploration took.
func figures(f sim.Figures) string {
	return fmt.Sprintf("%d states, %d transitions, depth %d, in %s: %.0f states a second and core, %d bytes a state (%s)",
		f.States, f.Transitions, f.Depth, f.Elapsed.Round(time.Millisecond), perCore(f), f.Bytes/max(f.States, 1), megabytes(f.Bytes))
}

// perCore is how many states a core expands in a second.
func perCore(f sim.Figures) float64 {
	return float64(f.States) / max(f.Elapsed.Seconds(), 1e-9) / float64(f.Workers)
}

func megabytes(n uint64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
