package story

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/drover-project/drover/lab/internal/beside"
)

// replayTimeout bounds how long one trace is followed.
const replayTimeout = 2 * time.Minute

// followTraces holds the run to the model in which Drover's promises are checked: whatever a manager saw and did, as its
// trace of decisions has it, must be something that the model can do. Managers that leave no trace are not held to it.
func (r *Run) followTraces(ctx context.Context) {
	traces, err := filepath.Glob(filepath.Join(r.dir, "logs", "*-decisions.ndjson"))
	if err != nil || len(traces) == 0 {
		return
	}
	program, err := beside.Program("kubectl-drover")
	if err != nil {
		r.Check("model", "the traces of decisions can be followed", false, "%v", err)
		return
	}
	for _, trace := range traces {
		ok, said := r.followTrace(ctx, program, trace)
		r.Check(strings.TrimSuffix(filepath.Base(trace), "-decisions.ndjson"), "the model can do all that happened", ok, "%s", said)
	}
}

// followTrace gives what the program says: in one line if the model can do all of it, otherwise the story's output has
// it whole.
func (r *Run) followTrace(ctx context.Context, program, trace string) (ok bool, said string) {
	ctx, cancel := context.WithTimeout(ctx, replayTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "replay", trace).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, oneLine(string(out))
	case errors.As(err, &exit) && ctx.Err() == nil:
		r.say(string(out))
		return false, "no, see above"
	default:
		return false, fmt.Sprintf("follow %s: %v", filepath.Base(trace), errors.Join(err, ctx.Err()))
	}
}
