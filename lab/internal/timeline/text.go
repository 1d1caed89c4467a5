package timeline

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Text writes the chart as tables for a terminal: one line per machine with the start and length of each phase, and
// one line per client with its longest gaps. Times are minutes and seconds since the start of the chart.
func Text(w io.Writer, c Chart) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "MACHINE\tVERSION\tCREATED\tJOIN\tSERVING FROM\tLB OUT\tDRAIN\tHOOK\tMEMBER OUT\tDELETE\tGONE")
	for _, r := range c.Rows {
		join := lengthOf(r, Provisioning, Joining)
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Machine, r.Version, c.startOf(r, Provisioning), join,
			c.startOf(r, Serving), lengthOf(r, Excluded), lengthOf(r, Draining), lengthOf(r, Hook), lengthOf(r, Removing),
			lengthOf(r, Deleting), c.goneAt(r))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write timeline: %w", err)
	}
	for _, cl := range c.Clients {
		_, _ = fmt.Fprintf(w, "%s: %s\n", cl.Name, c.gapText(cl))
	}
	for _, r := range c.Remarks {
		_, _ = fmt.Fprintf(w, "%s  %s\n", c.since(r.At), r.Text)
	}
	return nil
}

// FindingsText writes one PASS or FAIL line per finding.
func FindingsText(w io.Writer, findings []Finding) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", verdict(f.OK), f.Subject, f.Rule, f.Measured)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	return nil
}

// FiguresText writes one line per figure with its bound.
func FiguresText(w io.Writer, figures []Figure) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range figures {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", verdict(f.OK), f.Name, f.Value, f.Limit)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	return nil
}

func verdict(ok bool) string {
	if ok {
		return "PASS"
	}
	return "FAIL"
}

func (c Chart) since(t time.Time) string { return minutes(t.Sub(c.Start)) }

func minutes(d time.Duration) string {
	d = d.Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

func (c Chart) startOf(r Row, k PhaseKind) string {
	p, ok := r.Phase(k)
	if !ok {
		return "-"
	}
	return c.since(p.From)
}

func (c Chart) goneAt(r Row) string {
	if !r.Gone || len(r.Phases) == 0 {
		return "-"
	}
	return c.since(r.Phases[len(r.Phases)-1].To)
}

func lengthOf(r Row, kinds ...PhaseKind) string {
	var sum time.Duration
	found := false
	for _, k := range kinds {
		if p, ok := r.Phase(k); ok {
			sum += p.To.Sub(p.From)
			found = true
		}
	}
	if !found {
		return "-"
	}
	return fmt.Sprintf("%.1fs", sum.Seconds())
}

func (c Chart) gapText(cl Client) string {
	var parts []string
	for _, g := range cl.Gaps {
		parts = append(parts, fmt.Sprintf("%s at %s", round(g.To.Sub(g.From)), c.since(g.From)))
	}
	return cmp.Or(strings.Join(parts, ", "), "no gap worth showing")
}
