// Package findingtest compares findings with the sentences a test expects.
package findingtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/drover-project/drover/internal/admission/finding"
)

// Want is what a list of findings should be: each text is the beginning of one
// error or warning, in any order, and there are no others.
type Want struct {
	Errors, Warnings []string
}

// Check reports every difference.
func Check(t *testing.T, got finding.List, want Want) {
	t.Helper()
	var errors []string
	for _, err := range got.Errors {
		errors = append(errors, err.Error())
	}
	compare(t, "error", errors, want.Errors)
	compare(t, "warning", got.Warnings, want.Warnings)
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	left := slices.Clone(got)
	for _, start := range want {
		i := slices.IndexFunc(left, func(text string) bool { return strings.HasPrefix(text, start) })
		if i < 0 {
			t.Errorf("no %s begins with\n  %s\ngot %q", what, start, got)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, text := range left {
		t.Errorf("unexpected %s\n  %s", what, text)
	}
}
