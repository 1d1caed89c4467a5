package stories

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drover-project/drover/lab/compat"
)

// defaultSamples is where the Makefile looks for them too, as seen from this folder.
const defaultSamples = "../../../shared/compat/caprke2-samples"

// playSamples has every manifest applied that users of CAPRKE2 start from: it is accepted, and replaces nothing when it
// is applied again.
func playSamples(t *testing.T, turn *queue) {
	t.Helper()
	samples := os.Getenv("SAMPLES")
	if samples == "" {
		samples = defaultSamples
	}
	if err := compat.CheckFolder(samples); err != nil {
		t.Skip(err)
	}
	lab, err := filepath.Abs("../../bin/lab")
	if err != nil {
		t.Fatal(err)
	}
	turn.wait(t)
	run(t, lab, "compat", "--samples", samples)
}
