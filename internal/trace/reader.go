package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrHalf is returned for a line that ends in the middle of a record: whoever
// wrote it was killed. What it was to carry out had not begun, or stands in the
// record before as begun.
var ErrHalf = errors.New("it is no whole JSON object: the record ends in the middle")

// Reader reads what a Writer has written.
type Reader struct {
	in   *bufio.Reader
	line int
}

// NewReader returns a Reader of a file of records.
func NewReader(in io.Reader) *Reader { return &Reader{in: bufio.NewReader(in)} }

// Line is the number of the line that Next read last, from 1.
func (r *Reader) Line() int { return r.line }

// Next returns the next record, and io.EOF after the last one. Any other error
// names the line; the next call then goes on with the line after it. Empty
// lines are passed over.
func (r *Reader) Next() (Record, error) {
	for {
		text, err := r.in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return Record{}, fmt.Errorf("after line %d: %w", r.line, err)
		}
		if len(text) == 0 {
			return Record{}, io.EOF
		}
		r.line++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		record, err := decode(text)
		if err != nil {
			return Record{}, fmt.Errorf("line %d: %w", r.line, err)
		}
		return record, nil
	}
}

// endsEarly tells whether nothing is wrong with a text but that it ends too soon.
func endsEarly(text []byte) bool {
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&json.RawMessage{}), io.ErrUnexpectedEOF)
}

// decode reads one line. What it does not know it refuses: a record that is
// understood by half is worse than none.
func decode(text []byte) (Record, error) {
	var version struct{ V int }
	if err := json.Unmarshal(text, &version); err != nil {
		if endsEarly(text) {
			return Record{}, ErrHalf
		}
		return Record{}, fmt.Errorf("it is no whole JSON object: %w", err)
	}
	if version.V < 1 || version.V > Version {
		return Record{}, fmt.Errorf("the record is of version %d, and versions 1 to %d are known", version.V, Version)
	}
	var read line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		return Record{}, err
	}
	return read.Record, read.check()
}
