package host

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Progress is one message of a starting lab to the one who started it. Exactly
// one field is set.
type Progress struct {
	// Step names what is being done now.
	Step string `json:"step,omitempty"`
	// Ready is set once all has started.
	Ready bool `json:"ready,omitempty"`
	// Failure says why the lab gives up.
	Failure string `json:"failure,omitempty"`
}

// keepWord on the host's standard input says that the lab shall outlive the
// one who started it. If the input ends without it, the lab ends.
const keepWord = "keep\n"

// reporter sends progress until it is told that nobody listens any more.
type reporter struct {
	mu  sync.Mutex
	out io.Writer
}

func (r *reporter) send(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out == nil {
		return
	}
	// A starter that is gone is noticed by the end of the input.
	_ = json.NewEncoder(r.out).Encode(p)
}

func (r *reporter) step(name string) { r.send(Progress{Step: name}) }

func (r *reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = nil
}

// Follow reads progress and calls step for each step, until the lab is ready
// or has given up.
func Follow(in io.Reader, step func(name string)) error {
	decoder := json.NewDecoder(bufio.NewReader(in))
	for {
		var p Progress
		if err := decoder.Decode(&p); err != nil {
			return fmt.Errorf("the lab ended while it was starting: %w", err)
		}
		switch {
		case p.Failure != "":
			return errors.New(p.Failure)
		case p.Ready:
			return nil
		default:
			step(p.Step)
		}
	}
}

// Keep tells a ready lab to go on without its starter.
func Keep(out io.Writer) error {
	if _, err := io.WriteString(out, keepWord); err != nil {
		return fmt.Errorf("leave the lab alone: %w", err)
	}
	return nil
}

// awaitKeep returns whether the starter said keepWord before it was gone.
func awaitKeep(in io.Reader) bool {
	line, err := bufio.NewReader(in).ReadString('\n')
	return err == nil && line == keepWord
}
