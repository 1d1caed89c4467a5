package story

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/drover-project/drover/lab/internal/timeline"
)

// stillPeriod is how often the progress repeats what a leaving machine waits for.
const stillPeriod = 10 * time.Second

// maxLine keeps progress on one terminal line.
const maxLine = 180

// progress turns events into lines: which machine, which step, what is waited for, and for how long.
type progress struct {
	say func(string)

	mu      sync.Mutex
	machine map[string]string // node → machine
	ready   map[string]bool
	waiting map[string]waiting
	plane   string
}

type waiting struct {
	step, detail string
	since        time.Time
}

// follow prints the progress of everything that goes to the run's log, until ctx ends. It starts once for a run.
func (r *Run) follow(ctx context.Context) {
	r.following.Do(func() { r.startProgress(ctx) })
}

func (r *Run) startProgress(ctx context.Context) {
	p := &progress{say: r.say, machine: map[string]string{}, ready: map[string]bool{}, waiting: map[string]waiting{}}
	r.Log.Listen(func(e timeline.Event) {
		if ctx.Err() == nil {
			p.take(e)
		}
	})
	go func() {
		tick := time.NewTicker(stillPeriod)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				p.still(now)
			}
		}
	}()
}

func (p *progress) take(e timeline.Event) {
	p.mu.Lock()
	line := p.line(e)
	p.mu.Unlock()
	if line != "" {
		p.say(shorten(line))
	}
}

// line words an event, or returns "" when it is not worth a line.
func (p *progress) line(e timeline.Event) string {
	name := e.Machine
	if name == "" {
		name = p.machine[e.Node]
	}
	if name == "" {
		name = e.Node
	}
	switch e.Kind {
	case timeline.MachineCreated:
		return fmt.Sprintf("%s: new %s at %s", name, e.Role, e.Version)
	case timeline.MachineBooted:
		return name + ": machine is up, joining"
	case timeline.MachineJoined:
		p.machine[e.Node] = e.Machine
	case timeline.MemberAdded:
		return fmt.Sprintf("%s: etcd member %s joined as %s", name, e.Object, e.Detail)
	case timeline.MemberVoter:
		return name + ": its etcd member is a voter"
	case timeline.NodeReady, timeline.NodeNotReady:
		return p.nodeLine(name, e)
	case timeline.NodeExcluded:
		return name + ": taken out of the load balancer"
	case timeline.NodeRemoveAsked:
		return name + ": RKE2 asked to remove its etcd member"
	case timeline.MemberGone:
		return fmt.Sprintf("%s: etcd member %s is gone", name, e.Object)
	case timeline.LeaderChanged:
		return name + ": leads etcd"
	case timeline.PodTerminating, timeline.PodGone:
		return fmt.Sprintf("%s: %s %s", name, strings.ReplaceAll(string(e.Kind), "-", " "), e.Object)
	case timeline.ClientGap:
		return fmt.Sprintf("%s: no answer for %s", e.Object, e.At.Sub(e.Since).Round(10*time.Millisecond))
	case timeline.ControlPlaneState:
		return p.planeLine(e)
	default:
		return p.leavingLine(name, e)
	}
	return ""
}

// nodeLine words that a Node became ready for the first time, or was lost.
func (p *progress) nodeLine(name string, e timeline.Event) string {
	was := p.ready[e.Node]
	switch {
	case e.Kind == timeline.NodeReady && !was:
		p.ready[e.Node] = true
		return name + ": Node is ready"
	case e.Kind == timeline.NodeNotReady && was:
		return fmt.Sprintf("%s: Node is NOT ready (%s)", name, e.Detail)
	}
	return ""
}

// leavingLine words the steps of a machine's deletion.
func (p *progress) leavingLine(name string, e timeline.Event) string {
	switch e.Kind {
	case timeline.MachineDeleting:
		return name + ": deletion asked"
	case timeline.MachineStep:
		w := p.waiting[e.Machine]
		fresh := w.step != e.Object
		if fresh {
			w = waiting{step: e.Object, since: e.At}
		}
		w.detail = e.Detail
		p.waiting[e.Machine] = w
		if fresh {
			return fmt.Sprintf("%s: %s: %s", name, e.Object, oneLine(e.Detail))
		}
	case timeline.HookReleased:
		_, hook, _ := strings.Cut(e.Object, "/")
		return fmt.Sprintf("%s: hook %s released", name, hook)
	case timeline.MachineGone:
		delete(p.waiting, e.Machine)
		return name + ": machine is gone"
	default:
		// Lease renewals and the like are no progress.
	}
	return ""
}

// planeLine words what the control plane says it waits for, when that changed. Several conditions may name the same
// blocker, each after its own introduction; the blocker is what follows the last bullet.
func (p *progress) planeLine(e timeline.Event) string {
	switch e.Object {
	case "RollingOut", "ScalingUp", "ScalingDown", "Deleting":
	default:
		return ""
	}
	_, text, _ := strings.Cut(e.Detail, ": ")
	text = oneLine(text)
	if i := strings.LastIndex(text, "* "); i >= 0 {
		text = text[i+len("* "):]
	}
	if text == "" || text == p.plane {
		return ""
	}
	p.plane = text
	return "control plane: " + text
}

// still repeats what each leaving machine waits for.
func (p *progress) still(now time.Time) {
	p.mu.Lock()
	var lines []string
	for name, w := range p.waiting {
		if d := now.Sub(w.since); d >= stillPeriod {
			lines = append(lines, fmt.Sprintf("%s: %s for %s: %s", name, w.step, d.Round(time.Second), oneLine(w.detail)))
		}
	}
	p.mu.Unlock()
	for _, line := range lines {
		p.say(shorten(line))
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func shorten(s string) string {
	if r := []rune(s); len(r) > maxLine {
		return string(r[:maxLine-1]) + "…"
	}
	return s
}
