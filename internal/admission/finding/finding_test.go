package finding_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/drover-project/drover/internal/admission/finding"
)

func errors(errs ...*field.Error) finding.List { return finding.List{Errors: errs} }

func at(path *field.Path, value string) *field.Error {
	return field.Invalid(path, value, "set it to b")
}

func TestRatchet(t *testing.T) {
	files := field.NewPath("spec", "files")
	name := field.NewPath("spec", "name")
	for title, c := range map[string]struct {
		before, now      finding.List
		errors, warnings int
	}{
		"new fault":                 {errors(), errors(at(name, "a")), 1, 0},
		"old fault":                 {errors(at(name, "a")), errors(at(name, "a")), 0, 1},
		"another value":             {errors(at(name, "a")), errors(at(name, "c")), 1, 0},
		"another field":             {errors(at(name, "a")), errors(at(files, "a")), 1, 0},
		"mended":                    {errors(at(name, "a")), errors(), 0, 0},
		"moved in its list":         {errors(at(files.Index(0), "a")), errors(at(files.Index(7), "a")), 0, 1},
		"a second one in the list":  {errors(at(files.Index(0), "a")), errors(at(files.Index(0), "a"), at(files.Index(1), "a")), 1, 1},
		"another entry of a map":    {errors(at(files.Key("x"), "a")), errors(at(files.Key("y"), "a")), 1, 0},
		"warnings of before are no": {finding.List{Warnings: []string{"w"}}, finding.List{Warnings: []string{"w"}}, 0, 1},
	} {
		t.Run(title, func(t *testing.T) {
			got := c.now.Ratchet(c.before)
			if len(got.Errors) != c.errors || len(got.Warnings) != c.warnings {
				t.Errorf("got %d errors and %d warnings, want %d and %d: %+v", len(got.Errors), len(got.Warnings), c.errors, c.warnings, got)
			}
		})
	}
}

func TestWarningsOfRatchetAndSoftenNameTheFault(t *testing.T) {
	list := errors(at(field.NewPath("spec", "name"), "a"))
	want := []string{`not new, therefore not refused: spec.name: Invalid value: "a": set it to b`}
	if got := list.Ratchet(list).Warnings; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	want = []string{`because: spec.name: Invalid value: "a": set it to b`}
	softened := list.Soften("because")
	if got := softened.Warnings; !slices.Equal(got, want) || len(softened.Errors) > 0 {
		t.Errorf("got %+v", softened)
	}
}

func TestSince(t *testing.T) {
	before := finding.List{Warnings: []string{"old"}}
	now := errors(at(field.NewPath("spec"), "a"))
	now.Warnings = []string{"old", "new"}
	got := now.Since(before)
	if len(got.Errors) != 1 || !slices.Equal(got.Warnings, []string{"new"}) {
		t.Errorf("got %+v", got)
	}
}

func TestAddAndWarn(t *testing.T) {
	var list finding.List
	list.Warn(field.NewPath("spec", "a"), "has %d", 2)
	list.Add(errors(at(field.NewPath("spec"), "x")))
	if !slices.Equal(list.Warnings, []string{"spec.a: has 2"}) || len(list.Errors) != 1 {
		t.Errorf("got %+v", list)
	}
}
