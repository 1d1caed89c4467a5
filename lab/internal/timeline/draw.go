package timeline

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Geometry of a panel in SVG user units.
const (
	labelWidth = 205
	plotWidth  = 1045
	rowHeight  = 34
	barHeight  = 14
	headHeight = 30
	// remarkWidth is the room that the number of a remark takes.
	remarkWidth = 13.0
	// minBar keeps a phase of a second visible on a chart of ten minutes.
	minBar = 2.0
	// minLabel is the width from which a bar carries its length as text.
	minLabel = 34.0
)

// panel is one SVG drawing.
type panel struct {
	Width, Height int
	PlotLeft      int
	PlotRight     int
	Ticks         []tick
	Rows          []drawnRow
	Lines         []line
	Head, Foot    int
}

type tick struct {
	X    string
	Text string
}

// line is a remark: a vertical line at X with its number at LabelX.
type line struct{ X, LabelX, Text, Title string }

type drawnRow struct {
	Y           int
	TextY       int
	SubY        int
	Name, Under string
	Stripe      bool
	Bars        []bar
	Glyphs      []glyph
}

type bar struct {
	X, Width    string
	Y, Height   int
	TextX       string
	TextY       int
	Class, Text string
	Title       string
}

type glyph struct {
	Shape string
	X, Y  float64
	Title string
}

// markShape names the symbol of each sort of mark in the page.
var markShape = map[MarkKind]string{
	MarkMemberAdded: "m-added", MarkMemberVoter: "m-voter", MarkRemoveAsked: "m-asked", MarkMemberGone: "m-gone",
	MarkLeader: "m-leader", MarkPodGone: "m-pod", MarkNodeNotReady: "m-notready",
}

// phaseClass is the CSS class of a phase.
func phaseClass(k PhaseKind) string { return "p" + strconv.Itoa(slices.Index(Phases(), k)) }

// scale maps a stretch of time onto the plot.
type scale struct {
	from time.Time
	span time.Duration
}

func (s scale) x(t time.Time) float64 {
	f := float64(t.Sub(s.from)) / float64(max(s.span, time.Second))
	return labelWidth + min(max(f, 0), 1)*plotWidth
}

func mainPanel(c Chart) panel {
	s := scale{from: c.Start, span: c.End.Sub(c.Start)}
	p := newPanel(len(c.Rows)+len(c.Clients), s.span)
	for i, r := range c.Rows {
		p.Rows = append(p.Rows, drawRow(s, i, r, r.Phases, c.Start))
	}
	for i, cl := range c.Clients {
		p.Rows = append(p.Rows, drawClient(s, len(c.Rows)+i, cl, c))
	}
	label := 0.0
	for i, r := range c.Remarks {
		x := s.x(r.At)
		label = max(x, label+remarkWidth) // numbers of remarks that came together stand side by side
		p.Lines = append(p.Lines, line{X: num(x), LabelX: num(label), Text: strconv.Itoa(i + 1), Title: c.since(r.At) + " " + r.Text})
	}
	return p
}

// leavingPanel draws only the departures, each from the moment its machine began to leave, on one common scale.
func leavingPanel(c Chart) panel {
	type departure struct {
		row    Row
		phases []Phase
	}
	var all []departure
	var span time.Duration
	for _, r := range c.Rows {
		if i := slices.IndexFunc(r.Phases, func(p Phase) bool { return leavingPhase(p.Kind) }); i >= 0 {
			d := departure{row: r, phases: r.Phases[i:]}
			all = append(all, d)
			span = max(span, d.phases[len(d.phases)-1].To.Sub(d.phases[0].From))
		}
	}
	p := newPanel(len(all), span)
	for i, d := range all {
		from := d.phases[0].From
		row := d.row
		row.Marks = slices.DeleteFunc(slices.Clone(row.Marks), func(m Mark) bool { return m.At.Before(from) })
		p.Rows = append(p.Rows, drawRow(scale{from: from, span: span}, i, row, d.phases, from))
	}
	return p
}

func leavingPhase(k PhaseKind) bool {
	return slices.Index(Phases(), k) > slices.Index(Phases(), Serving)
}

func newPanel(rows int, span time.Duration) panel {
	p := panel{
		Width: labelWidth + plotWidth + 20, Height: headHeight + rows*rowHeight + 8,
		PlotLeft: labelWidth, PlotRight: labelWidth + plotWidth, Head: headHeight - 6, Foot: headHeight + rows*rowHeight,
	}
	step := tickStep(span)
	for at := time.Duration(0); at <= span; at += step {
		x := labelWidth + float64(at)/float64(max(span, time.Second))*plotWidth
		p.Ticks = append(p.Ticks, tick{X: num(x), Text: minutes(at)})
	}
	return p
}

// tickStep picks a round distance that gives at most about twelve ticks.
func tickStep(span time.Duration) time.Duration {
	for _, s := range []time.Duration{time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute,
		2 * time.Minute, 5 * time.Minute, 10 * time.Minute} {
		if span/s <= 12 {
			return s
		}
	}
	return time.Hour
}

func drawRow(s scale, index int, r Row, phases []Phase, zero time.Time) drawnRow {
	d := place(index, r.Machine, string(r.Role)+" "+r.Version)
	for _, ph := range phases {
		x := s.x(ph.From)
		width := max(s.x(ph.To)-x, minBar)
		b := bar{
			X: num(x), Width: num(width), Y: d.Y + 11, Height: barHeight, Class: phaseClass(ph.Kind),
			TextX: num(x + width/2), TextY: d.Y + 22,
			Title: fmt.Sprintf("%s: %s, %.1f s, from %s", r.Machine, ph.Kind, ph.To.Sub(ph.From).Seconds(), minutes(ph.From.Sub(zero))),
		}
		if width >= minLabel {
			b.Text = fmt.Sprintf("%.0f s", ph.To.Sub(ph.From).Seconds())
		}
		d.Bars = append(d.Bars, b)
	}
	for _, m := range r.Marks {
		d.Glyphs = append(d.Glyphs, glyph{
			Shape: markShape[m.Kind], X: s.x(m.At), Y: float64(d.Y + 6),
			Title: fmt.Sprintf("%s %s at %s", m.Kind, m.Label, minutes(m.At.Sub(zero))),
		})
	}
	return d
}

func drawClient(s scale, index int, cl Client, c Chart) drawnRow {
	var worst time.Duration
	for _, g := range cl.Gaps {
		worst = max(worst, g.To.Sub(g.From))
	}
	under := "no gap worth showing"
	if worst > 0 {
		under = "longest gap " + round(worst)
	}
	d := place(index, cl.Name, under)
	for _, g := range cl.Gaps {
		x := s.x(g.From)
		d.Bars = append(d.Bars, bar{
			X: num(x), Width: num(max(s.x(g.To)-x, minBar)), Y: d.Y + 11, Height: barHeight, Class: "gap",
			Title: fmt.Sprintf("%s: no answer for %s at %s", cl.Name, round(g.To.Sub(g.From)), c.since(g.From)),
		})
	}
	return d
}

func place(index int, name, under string) drawnRow {
	y := headHeight + index*rowHeight
	return drawnRow{Y: y, TextY: y + 15, SubY: y + 28, Name: name, Under: under, Stripe: index%2 == 0}
}

func num(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
