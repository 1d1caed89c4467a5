package explain

import (
	"os"
	"strings"
	"testing"

	"github.com/drover-project/drover/internal/plan"
)

// What the page for operators shows is what is printed.
func TestPageShowsWhatIsPrinted(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"draining, held by a PodDisruptionBudget", "foreign hook", "host is not destroyed", "seen in part"} {
		in := situations[name]()
		in.Decision = plan.Decide(in.Snapshot)
		if text := Explain(*in).Text(); !strings.Contains(string(page), "$ kubectl drover explain prod -n shop\n"+text) {
			t.Errorf("docs/operate/explain.md does not show this for %q:\n%s", name, text)
		}
	}
	if text := MembersOf(situations["member far behind"]().Snapshot, nil).Text(); !strings.Contains(string(page), text) {
		t.Errorf("docs/operate/explain.md does not show these members:\n%s", text)
	}
}
