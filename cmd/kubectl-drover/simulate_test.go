package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// call runs the program and returns what it printed.
func call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := root()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(append([]string{"simulate", "--quiet"}, args...))
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func TestSimulateFindsNothingWrong(t *testing.T) {
	out, err := call(t, "--servers", "1", "--user-deletes", "1", "--stale", "--restarts", "--blackouts")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"states, ", "bytes a state", "Every promise holds in every state"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// Without the rule that the project exists for, the shortest story shows what
// it is for, and is kept in a file.
func TestSimulateTellsAStory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "story.txt")
	out, err := call(t, "--servers", "3", "--surge", "0", "--deaths", "1", "--without-rule", "dead_member_goes_first", "--save", file)
	if !errors.Is(err, errViolation) {
		t.Fatalf("error %v\n%s", err, out)
	}
	saved, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out, "BROKEN "+string(saved)) || !strings.HasPrefix(string(saved), "I3: ") {
		t.Errorf("printed\n%s\nsaved\n%s", out, saved)
	}
}

func TestSimulateNamesBadInput(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"--servers 8", "choose 1 to 7"},
		{"--surge 2", "choose 0 or 1"},
		{"--surge 0 --servers 2", "at least 3 servers"},
		{"--deaths 8", "choose at most 3"},
		{"--without-rule nonsense", "no rule has that name; there are whole_control_plane_is_deleted"},
		{"--limit 10", "more states than the limit allows: 10"},
	} {
		out, err := call(t, strings.Fields(tc.args)...)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q\n%s", tc.args, err, tc.want, out)
		}
	}
}

func TestTableGoesBetweenItsMarks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("before\n"+tableBegin+"old\n"+tableEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeTable(file, "new\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + tableBegin + "\nnew\n\n" + tableEnd + "after\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.WriteFile(file, []byte("no marks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeTable(file, "new\n"); err == nil || !strings.Contains(err.Error(), "does not hold the marks") {
		t.Errorf("error %v", err)
	}
}
