package sim

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWalks goes at random through control planes that are too large to be
// walked whole: seven servers and many failures. A broken promise is shrunk to
// a short story.
func TestWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Servers: rapid.IntRange(1, 7).Draw(t, "servers"), Surge: 1, AtRest: rapid.Bool().Draw(t, "at rest")}
		if o.Servers >= 3 {
			o.Surge = rapid.IntRange(0, 1).Draw(t, "surge")
		}
		for f := Death; f < numFaults; f++ {
			o.Budget[f] = uint8(rapid.IntRange(0, 2).Draw(t, "budget"))
		}
		// What nobody can be held to: see docs/safety.md.
		o.Budget[HookLoss], o.Budget[WholeDelete], o.Budget[KubeletDeath] = 0, 0, 0
		walk(t, NewStage(o))
	})
}

// walk lets the story begin at random, and then waits for its end.
func walk(t *rapid.T, s *Stage) {
	s.deathInWindow = false
	var told []string
	tell := func(line string) { told = append(told, line) }
	broken := func(err error) {
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, strings.Join(told, "\n"), strings.Join(s.Servers(), "\n"))
		}
	}
	for range rapid.IntRange(0, 60).Draw(t, "steps") {
		if s.World.Lost() || s.World.free() < 0 {
			return
		}
		if rapid.Bool().Draw(t, "Drover") {
			d, done, err := s.Drover()
			if done {
				tell("Drover: " + d.Action.Describe())
			}
			broken(err)
			continue
		}
		steps, texts := s.Steps()
		if len(steps) == 0 {
			continue
		}
		i := rapid.IntRange(0, len(steps)-1).Draw(t, "step")
		tell(texts[i])
		broken(s.Apply(steps[i]))
	}
	if !s.World.Quorum() || s.World.free() < 0 {
		return
	}
	s.World.Left = Budget{}
	broken(s.Run("", 2000, tell))
	if s.World.Quorum() && !s.Reached() {
		t.Fatalf("the goal is not reached\n%s\n%s", strings.Join(told, "\n"), strings.Join(s.Servers(), "\n"))
	}
}
