package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/drover-project/drover/internal/model"
)

// Writer writes records, each as one line and with one call of Write, so that
// several writers may append to one file. It is safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
	// torn is true when the last line may lack its end.
	torn   bool
	former map[string]*former
}

// former is what was last said about a control plane.
type former struct {
	uid string
	// said is nil when what was to be said could not be written.
	said *essence
	// held is the last record that was left out, unchanged and lastSeen are
	// about those that were left out before it.
	held      *Record
	unchanged int
	lastSeen  time.Time
	lost      int
}

// NewWriter returns a Writer to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out, former: map[string]*former{}} }

// Write writes the record, unless it says what the former one of the control
// plane said. It keeps nothing that the caller may change.
func (w *Writer) Write(r Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(r)
}

func (w *Writer) write(r Record) error {
	r = inUTC(r)
	now := essenceOf(r)
	f := w.former[r.ControlPlane]
	var err error
	if f != nil && f.uid != r.UID {
		// Another control plane has got the name.
		err = w.flush(f)
		f = nil
	}
	if f == nil {
		f = &former{uid: r.UID}
		w.former[r.ControlPlane] = f
	}
	f.leaveOut()
	if f.said != nil && reflect.DeepEqual(*f.said, now) {
		f.held = &r
		return err
	}
	return errors.Join(err, w.put(f, r, now))
}

// Begin writes the record of an action that is about to be carried out, unless
// the former record of the control plane has the same decision on the same
// observation: then nobody has to be told again what is tried. The outcome is
// to be given to Write, as a whole record.
func (w *Writer) Begin(r Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.Result = Result{State: Begun}
	if f := w.former[r.ControlPlane]; f != nil && f.uid == r.UID && f.said != nil && f.said.sameDecision(essenceOf(inUTC(r))) {
		return nil
	}
	return w.write(r)
}

// Flush writes for each control plane the last record that was left out.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(w.former)) {
		errs = append(errs, w.flush(w.former[name]))
	}
	return errors.Join(errs...)
}

// Forget does the same for one control plane, given as namespace/name, of
// which nothing more will be heard.
func (w *Writer) Forget(controlPlane string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.former[controlPlane]
	if f == nil {
		return nil
	}
	delete(w.former, controlPlane)
	return w.flush(f)
}

func (w *Writer) flush(f *former) error {
	if f.held == nil {
		return nil
	}
	last := *f.held
	f.held = nil
	return w.put(f, last, essenceOf(last))
}

// leaveOut counts the record that is held, if there is one, among those that
// were left out for good.
func (f *former) leaveOut() {
	if f.held != nil {
		f.unchanged, f.lastSeen, f.held = f.unchanged+1, f.held.Time, nil
	}
}

func (w *Writer) put(f *former, r Record, now essence) error {
	r.Unchanged, r.LastSeen, r.Lost = f.unchanged, f.lastSeen, f.lost
	if f.said != nil && f.said.Result.State == Begun && f.said.sameDecision(now) {
		r.Outcome, r.Snapshot, r.Decision = true, model.Snapshot{}, model.Decision{}
	}
	if err := w.line(r); err != nil {
		f.said = nil
		f.lost++
		return fmt.Errorf("record of the decision about %s: %w", r.ControlPlane, err)
	}
	*f = former{uid: f.uid, said: &now}
	return nil
}

func (w *Writer) line(r Record) error {
	var b bytes.Buffer
	if w.torn {
		b.WriteByte('\n')
	}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(line{V: Version, Record: r}); err != nil {
		return err
	}
	_, err := w.out.Write(b.Bytes())
	w.torn = err != nil
	return err
}
