package explain

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/drover-project/drover/internal/plan"
)

// What the pages for operators show is what is printed.
func TestPagesShowWhatIsPrinted(t *testing.T) {
	printed := map[string]string{}
	for name, situation := range situations {
		in := situation()
		in.Decision = plan.Decide(in.Snapshot)
		printed["$ kubectl drover explain prod -n shop\n"+Explain(*in).Text()] = name
		printed["$ kubectl drover members prod -n shop\n"+MembersOf(in.Snapshot, in.Denied).Text()] = name
	}
	pages, err := filepath.Glob("../../docs/operate/*.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, file := range pages {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range screens(string(page)) {
			if printed[text] == "" {
				t.Errorf("%s shows what is printed in no situation:\n%s", filepath.Base(file), text)
			}
			shown[printed[text]] = true
		}
	}
	for _, name := range []string{"draining, held by a PodDisruptionBudget", "foreign hook", "host is not destroyed", "seen in part", "member far behind", "quorum missing"} {
		if !shown[name] {
			t.Errorf("no page shows %q", name)
		}
	}
}

// screens are the blocks of a page that show what explain and members print.
func screens(page string) []string {
	var out []string
	for i, block := range strings.Split(page, "```") {
		text := strings.TrimPrefix(block, "\n")
		if i%2 == 1 && (strings.HasPrefix(text, "$ kubectl drover explain") || strings.HasPrefix(text, "$ kubectl drover members")) {
			out = append(out, text)
		}
	}
	return out
}

// ruleLike is what looks like the name of a rule: three words and more in snake
// case, as code or behind the word rule. Names of metrics look alike, with a
// prefix of their own.
var ruleLike = regexp.MustCompile("(?:`|rule )([a-z]+(?:_[a-z0-9]+){2,})(?:`|])")

// Every page is in the index, and every rule that a page names exists.
func TestPagesAreListedAndNameRules(t *testing.T) {
	rules := map[string]bool{plan.OneServerLeavesAtATime: true}
	for _, r := range plan.Rules() {
		rules[r.Name] = true
	}
	index, err := os.ReadFile("../../docs/operate/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/operate/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range pages {
		name := filepath.Base(file)
		if name != "README.md" && !strings.Contains(string(index), "("+name) {
			t.Errorf("the index has no link to %s", name)
		}
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range ruleLike.FindAllStringSubmatch(string(page), -1) {
			if rule := match[1]; !rules[rule] && !strings.HasPrefix(rule, "drover_") {
				t.Errorf("%s names the rule %s, which does not exist", name, rule)
			}
		}
	}
}
