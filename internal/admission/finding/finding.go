// Package finding holds what the rules of admission have to say about an
// object: what refuses it, and what its author is only warned about.
package finding

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// List is what was found about one object. The zero value is an object nothing
// can be said against.
type List struct {
	// Errors refuse the object.
	Errors field.ErrorList
	// Warnings are shown to whoever sent the object, each with the field first.
	Warnings []string
}

// Refuse adds a reason to refuse the object.
func (l *List) Refuse(err *field.Error) {
	l.Errors = append(l.Errors, err)
}

// Warn adds a warning about a field.
func (l *List) Warn(path *field.Path, format string, args ...any) {
	l.Warnings = append(l.Warnings, path.String()+": "+fmt.Sprintf(format, args...))
}

// Add adds all findings of another list.
func (l *List) Add(other List) {
	l.Errors = append(l.Errors, other.Errors...)
	l.Warnings = append(l.Warnings, other.Warnings...)
}

// Ratchet turns what was already wrong with the stored object into warnings. A
// rule may be younger than the object, and must not keep its owner from
// changing something else. Before holds the findings about the stored object.
func (l List) Ratchet(before List) List {
	known := map[string]int{}
	for _, err := range before.Errors {
		known[identity(err)]++
	}
	out := List{Warnings: l.Warnings}
	for _, err := range l.Errors {
		if id := identity(err); known[id] > 0 {
			known[id]--
			out.Warnings = append(out.Warnings, "not new, therefore not refused: "+err.Error())
			continue
		}
		out.Errors = append(out.Errors, err)
	}
	return out
}

// Soften turns every error into a warning that begins with the reason why.
func (l List) Soften(reason string) List {
	out := List{Warnings: l.Warnings}
	for _, err := range l.Errors {
		out.Warnings = append(out.Warnings, reason+": "+err.Error())
	}
	return out
}

// Since returns the findings without the warnings that could be given before
// as well.
func (l List) Since(before List) List {
	known := map[string]bool{}
	for _, warning := range before.Warnings {
		known[warning] = true
	}
	out := List{Errors: l.Errors}
	for _, warning := range l.Warnings {
		if !known[warning] {
			out.Warnings = append(out.Warnings, warning)
		}
	}
	return out
}

var index = regexp.MustCompile(`\[\d+\]`)

// identity is the same for the same fault in two states of an object. Places in
// lists do not count: an item added in front moves those behind it.
func identity(err *field.Error) string {
	return index.ReplaceAllString(err.Error(), "[]")
}
