package timeline

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"
)

//go:embed page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Page is everything that the HTML page shows besides the chart.
type Page struct {
	Title, Subtitle string
	Chart           Chart
	Figures         []Figure
	Findings        []Finding
	Events          []Event
}

// HTML writes the page: one file, no script, no outside resource, readable in light and dark.
func HTML(w io.Writer, p Page) error {
	if err := pageTemplate.Execute(w, p.view()); err != nil {
		return fmt.Errorf("write timeline page %q: %w", p.Title, err)
	}
	return nil
}

// view is what the template reads.
type view struct {
	Title, Subtitle string
	When            string
	Passed, Failed  int
	Figures         []Figure
	Findings        []Finding
	Main, Leaving   panel
	Phases          []legendPhase
	Marks           []glyph
	Remarks         []remark
	Table           [][]string
	Events          [][]string
}

type legendPhase struct{ Class, Text string }

type remark struct{ Number, At, Text string }

func (p Page) view() view {
	v := view{
		Title: p.Title, Subtitle: p.Subtitle, When: p.Chart.Start.Format("2 January 2006 15:04 MST"),
		Figures: p.Figures, Findings: p.Findings,
		Main: mainPanel(p.Chart), Leaving: leavingPanel(p.Chart),
		Table: table(p.Chart),
	}
	for _, f := range p.Findings {
		v.count(f.OK)
	}
	for _, f := range p.Figures {
		v.count(f.OK)
	}
	for _, k := range Phases() {
		v.Phases = append(v.Phases, legendPhase{Class: phaseClass(k), Text: string(k)})
	}
	for _, k := range MarkKinds() {
		v.Marks = append(v.Marks, glyph{Shape: markShape[k], X: 8, Y: 8, Title: string(k)})
	}
	for i, r := range p.Chart.Remarks {
		v.Remarks = append(v.Remarks, remark{Number: fmt.Sprint(i + 1), At: p.Chart.since(r.At), Text: r.Text})
	}
	v.Events = eventTable(p.Chart, p.Events)
	return v
}

func (v *view) count(ok bool) {
	if ok {
		v.Passed++
	} else {
		v.Failed++
	}
}

func table(c Chart) [][]string {
	var out [][]string
	for _, r := range c.Rows {
		row := []string{r.Machine, r.Version}
		for _, k := range Phases() {
			row = append(row, lengthOf(r, k))
		}
		out = append(out, append(row, c.goneAt(r)))
	}
	return out
}

func eventTable(c Chart, events []Event) [][]string {
	var out [][]string
	for _, e := range events {
		if e.Kind == LeaseRenewed {
			continue
		}
		subject := e.Machine
		if subject == "" {
			subject = e.Node
		}
		at := e.At.Sub(c.Start).Round(100 * time.Millisecond)
		out = append(out, []string{fmt.Sprintf("%.1f s", at.Seconds()), string(e.Kind), subject, e.Object, e.Detail})
	}
	return slices.Clip(out)
}
