package compat

import (
	"fmt"
	"io"
	"path"
	"strings"
)

const (
	// width is that of the table, in characters, and otherColumns that of the columns between the file and the notes.
	width        = 150
	otherColumns = 23
	// longestName is what the file's column has room for; longer names get a line of their own.
	longestName = 50
)

// printTable prints the rows and what they come to, and tells whether all is well.
func printTable(out io.Writer, rows []row) bool {
	t := &table{out: out}
	for i := range rows {
		t.nameWidth = max(t.nameWidth, min(longestName, len(path.Base(rows[i].file))+2))
	}
	t.line("")
	t.cells("FILE", "APPLIED", "ROLLED", "NOTES")
	folder := ""
	for i := range rows {
		if dir := path.Dir(rows[i].file); dir != folder {
			folder = dir
			t.line("%s/", folder)
		}
		t.row(&rows[i])
	}
	return t.sum(rows)
}

type table struct {
	out       io.Writer
	nameWidth int
}

func (t *table) line(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format+"\n", args...) }

func (t *table) cells(file, applied, rolled, notes string) {
	t.line("%s", strings.TrimRight(fmt.Sprintf("%-*s  %-8s  %-9s  %s", t.nameWidth, file, applied, rolled, notes), " "))
}

func (t *table) row(r *row) {
	name := "  " + path.Base(r.file)
	if len(name) > t.nameWidth {
		t.line("%s", name)
		name = ""
	}
	applied, rolled := fmt.Sprintf("%d of %d", r.accepted, r.objects), "–"
	if r.runs {
		rolled = fmt.Sprintf("%d of %d", r.replaced, r.servers+r.workers)
	}
	var notes []string
	for _, text := range r.faults {
		notes = append(notes, t.wrap("FAIL "+text)...)
	}
	for _, text := range r.notes {
		notes = append(notes, t.wrap(text)...)
	}
	if r.notManifest != "" {
		applied, notes = "–", t.wrap("not a manifest: "+r.notManifest)
	}
	if len(notes) == 0 {
		notes = []string{""}
	}
	t.cells(name, applied, rolled, notes[0])
	for _, more := range notes[1:] {
		t.cells("", "", "", more)
	}
}

// wrap breaks a note into lines; those after the first are indented.
func (t *table) wrap(text string) []string {
	columns := width - t.nameWidth - otherColumns
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= columns:
			line += " " + word
		default:
			lines = append(lines, line)
			line = "  " + word
		}
	}
	return append(lines, line)
}

// sum prints what the table means and whether all is well.
func (t *table) sum(rows []row) bool {
	var manifests, others, objects, accepted, machines, replaced, unexplained, faults int
	for i := range rows {
		r := &rows[i]
		if r.notManifest != "" {
			others++
			continue
		}
		manifests++
		objects, accepted = objects+r.objects, accepted+r.accepted
		machines, replaced = machines+r.servers+r.workers, replaced+r.replaced
		unexplained += r.unexplained
		faults += len(r.faults)
	}
	t.line("")
	t.line("APPLIED  objects that were accepted as they stand, of those in the file. Where something was refused and it is clear what was")
	t.line("         meant, that was applied instead, and the rest of the checks is done with it.")
	t.line("ROLLED   Machines that were replaced, of the first server and the workers, after the file was applied again by kubectl and by")
	t.line("         server-side apply, and once more as %s, and all controllers had looked at the cluster %d times.", oldVersion, pauses)
	t.line("")
	t.line("%s, %s; %d of %d objects accepted as they stand; %d of %d Machines replaced; %s",
		count(manifests, "manifest"), count(others, "other file"), accepted, objects, replaced, machines, count(unexplained, "unexplained refusal"))
	return faults == 0
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
