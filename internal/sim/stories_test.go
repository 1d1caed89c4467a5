package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/drover-project/drover/internal/model"
)

// TestStories plays the files in stories. With -rewrite they are written anew
// from what happens. Their commands:
//
//	start servers=N surge=N [outdated] [empty]
//	run [until=(words)] [steps=N]   controller and surroundings take turns
//	happens                         the body's steps, one a line
//	drover                          what the controller decides, carried out
//	servers                         the servers as they are
//	goal                            whether everything is as wished
func TestStories(t *testing.T) {
	datadriven.Walk(t, "stories", func(t *testing.T, path string) {
		var stage *Stage
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "start" {
				stage = start(t, d)
				return lines(stage.Servers())
			}
			if stage == nil {
				d.Fatalf(t, "a story begins with start")
			}
			return play(t, stage, d)
		})
	})
}

func start(t *testing.T, d *datadriven.TestData) *Stage {
	o := Options{AtRest: !d.HasArg("outdated"), Empty: d.HasArg("empty")}
	d.ScanArgs(t, "servers", &o.Servers)
	d.ScanArgs(t, "surge", &o.Surge)
	for i := range o.Budget {
		o.Budget[i] = 7
	}
	return NewStage(o)
}

func play(t *testing.T, s *Stage, d *datadriven.TestData) string {
	var told []string
	var err error
	switch d.Cmd {
	case "run":
		var words []string
		limit := 200
		if d.HasArg("until") {
			for i := range d.CmdArgs {
				if d.CmdArgs[i].Key == "until" {
					words = d.CmdArgs[i].Vals
				}
			}
		}
		if d.HasArg("steps") {
			d.ScanArgs(t, "steps", &limit)
		}
		err = s.Run(strings.Join(words, " "), limit, func(line string) { told = append(told, line) })
	case "happens":
		for _, sentence := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			if err = s.Happens(sentence); err != nil {
				break
			}
		}
	case "drover":
		told, err = decided(s)
	case "servers":
		told = s.Servers()
	case "goal":
		told = []string{map[bool]string{true: "reached", false: "not reached"}[s.Reached()]}
	default:
		d.Fatalf(t, "the command %s is not known", d.Cmd)
	}
	if err != nil {
		told = append(told, "BROKEN: "+err.Error())
	}
	return lines(told)
}

func decided(s *Stage) ([]string, error) {
	d, done, err := s.Drover()
	return decision(d, done), err
}

func decision(d model.Decision, done bool) []string {
	var out []string
	switch {
	case d.Settled():
		return []string{"content"}
	case d.Action != nil && done:
		out = append(out, fmt.Sprintf("does: %s (%s)", d.Action.Describe(), d.Rule))
	case d.Action != nil:
		out = append(out, fmt.Sprintf("is refused: %s (%s)", d.Action.Describe(), d.Rule))
	}
	for _, w := range d.Waits {
		out = append(out, fmt.Sprintf("waits: %s (%s)", w.Message, w.Rule))
		for _, b := range w.Blockers {
			out = append(out, fmt.Sprintf("       for %s %s: %s", b.Kind, b.Name, b.Unblock))
		}
	}
	return out
}

func lines(told []string) string {
	if len(told) == 0 {
		return "ok\n"
	}
	return strings.Join(slices.Clone(told), "\n") + "\n"
}
