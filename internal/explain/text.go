package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/drover-project/drover/internal/model"
)

// Most lines of one kind, so that everything stays on a screen.
const (
	mostObstacles = 6
	mostBlockers  = 3
	mostOptions   = 3
	// mostDetail is how much of core's own words is shown.
	mostDetail = 200
)

// page collects lines with a heading at their left.
type page struct{ strings.Builder }

// indent is the width of the headings.
const indent = 12

func (p *page) line(heading, format string, args ...any) {
	text := strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf(format, args...)), "\n", " ")
	fmt.Fprintf(&p.Builder, "%-*s%s\n", indent, heading, text)
}

// Text writes the Explanation for a terminal.
func (e Explanation) Text() string {
	p := &page{}
	fmt.Fprintf(&p.Builder, "Cluster %s/%s, control plane %s, %s: %s, %s\n", e.Namespace, e.Cluster, e.ControlPlane, e.Version, e.Doing, e.State)
	for _, reason := range e.Paused {
		p.line("Paused", "%s", reason)
	}
	if e.Blind != "" {
		p.line("Note", "seen from here in part only: %s. What is waited for is as the controller reported it", e.Blind)
	}
	p.line("Servers", "%s", e.Servers.text())
	if e.Quorum != "" {
		p.line("etcd", "%s", e.Quorum)
	}
	for i, r := range e.Troubled {
		if i == mostBlockers {
			p.line("", "and %d more", len(e.Troubled)-i)
			break
		}
		p.line("", "member %s of %s: %s, %d entries behind", dash(r.Name), r.owner(), cut(r.Health, mostDetail), r.Lag)
	}
	for i, text := range e.Broken {
		if i == mostBlockers {
			p.line("", "and %d more", len(e.Broken)-i)
			break
		}
		p.line("Broken", "%s", cut(text, mostDetail))
	}
	for _, text := range e.Health {
		p.line("Reported", "%s", text)
	}
	if e.Leaving != nil {
		e.Leaving.write(p, e.Now)
	}
	e.writeWaits(p)
	e.writeObstacles(p)
	for _, failure := range e.Failures {
		p.line("Failed", "%s", failure)
	}
	if e.State != Settled {
		p.line("Next", "%s", e.Next)
	}
	for i, option := range e.Options {
		heading := "You can"
		if i > 0 {
			heading = ""
		}
		if i < mostOptions {
			p.line(heading, "- %s", option)
		}
	}
	WriteDenied(&p.Builder, e.Denied)
	return p.String()
}

func (s Servers) text() string {
	out := fmt.Sprintf("%d wished, %d there, %d up to date", s.Wished, s.Present, s.UpToDate)
	if s.Leaving > 0 {
		out += fmt.Sprintf(", %d leaving", s.Leaving)
	}
	if s.Rollout > 0 {
		out += fmt.Sprintf("; server %d of %d is being replaced", s.Rollout, s.Wished)
	}
	return out
}

func (l *Leaving) write(p *page, now time.Time) {
	p.line("Leaving", "Machine %s, step %d of %d, done when %s", l.Machine, l.Step, l.Steps, l.Title)
	where := "core has not begun"
	if l.Phase != model.PhaseNone {
		where = "core: " + string(l.Phase)
	}
	p.line("", "%s%s", where, since(l.Since, now))
	if l.Detail != "" {
		p.line("", "%s", cut(l.Detail, mostDetail))
	}
	if len(l.Behind) > 0 {
		p.line("Behind it", "%s: one server leaves at a time", strings.Join(l.Behind, ", "))
	}
}

func (e Explanation) writeWaits(p *page) {
	if e.Action != "" {
		heading := "Now"
		if e.State == Paused {
			heading = "Held back"
		}
		p.line(heading, "%s [rule %s]", e.Action, e.Rule)
	}
	for i, w := range e.Waits {
		if i > 1 {
			p.line("", "and %d more", len(e.Waits)-i)
			break
		}
		p.line("Waits for", "%s [rule %s]", e.brief(w.Message), w.Rule)
		if i == 0 && w.Why != "" {
			p.line("because", "%s", w.Why)
		}
		for n, b := range w.Blockers {
			if n == mostBlockers {
				p.line("", "and %d more", len(w.Blockers)-n)
				break
			}
			p.line("held by", "%s %s%s: %s", b.Kind, b.Name, since(b.Since, e.Now), b.Unblock)
		}
	}
}

// brief leaves core's own words out of a message if they stand above already.
func (e Explanation) brief(message string) string {
	if e.Leaving != nil && e.Leaving.Detail != "" {
		message = strings.ReplaceAll(message, " ("+e.Leaving.Detail+")", "")
		message = strings.ReplaceAll(message, ": "+e.Leaving.Detail, "")
	}
	return cut(message, 2*mostDetail)
}

func (e Explanation) writeObstacles(p *page) {
	for i, o := range e.Obstacles {
		if i == mostObstacles {
			p.line("", "and %d more", len(e.Obstacles)-i)
			break
		}
		mark := ""
		if o.Stuck {
			mark = "!"
		}
		p.line("blocked by"+mark, "%s %s: %s%s", o.Kind, o.Name, o.Why, since(o.Since, e.Now))
	}
}

// WriteDenied says which permission is missing where.
func WriteDenied(b *strings.Builder, denied []model.Denied) {
	for _, d := range denied {
		fmt.Fprintf(b, "%-*s%s %s in %s; an RBAC rule that is enough:\n%-*s%s\n", indent, "Forbidden", d.Verb, d.Resource, d.Where(), indent, "", d.Rule())
	}
}

// since is an age in parentheses, empty when it is not known.
func since(t, now time.Time) string {
	if t.IsZero() || now.Sub(t) < time.Second {
		return ""
	}
	return " (for " + Age(now.Sub(t)) + ")"
}

// Age writes a duration with its two largest units.
func Age(d time.Duration) string {
	d = d.Truncate(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

func cut(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return text
}
