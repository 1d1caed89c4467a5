package compat

import "fmt"

// row is what the table says about one file.
type row struct {
	file string
	// notManifest says why the file was not applied; "" if it was.
	notManifest string
	// accepted of objects were accepted as they stand.
	accepted, objects int
	// servers and workers are the Machines that exist, replaced those that were made beyond the ones needed.
	servers, workers, replaced int
	// runs is true when the file made a control plane run, so that there was something to replace.
	runs bool
	// notes are for the reader; faults make the run fail.
	notes, faults []string
	// unexplained counts refusals that no slip explains.
	unexplained int
}

func (r *row) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *row) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// verdict is the row in a few words, for the lines that show progress.
func (r *row) verdict() string {
	switch {
	case r.notManifest != "":
		return "not a manifest"
	case len(r.faults) > 0:
		return "FAIL " + r.faults[0]
	}
	return "ok"
}
